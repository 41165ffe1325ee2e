#include "engine/text/piece_trie.h"

#include <algorithm>

namespace salient {
namespace {

// A node whose children are still to be made: the sorted pieces [from, to) share its first `depth` bytes.
struct Range {
  int32_t node;
  size_t from, to, depth;
};

}  // namespace

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces) {
  std::sort(pieces.begin(), pieces.end());
  nodes_.emplace_back();
  std::vector<Range> open = {{kRoot, 0, pieces.size(), 0}};
  for (size_t next = 0; next < open.size(); ++next) {
    auto [node, from, to, depth] = open[next];
    // A piece that ends here sorts before all that go on.
    if (from < to && pieces[from].first.size() == depth) {
      nodes_[node].token = pieces[from].second;
      ++from;
    }
    nodes_[node].first_child = static_cast<int32_t>(nodes_.size());
    while (from < to) {
      const char byte = pieces[from].first[depth];
      size_t end = from;
      while (end < to && pieces[end].first[depth] == byte) ++end;
      open.push_back({static_cast<int32_t>(nodes_.size()), from, end, depth + 1});
      nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
      ++nodes_[node].children;
      from = end;
    }
  }
  from_root_.fill(kNone);
  for (int32_t i = 0; i < nodes_[kRoot].children; ++i) {
    const int32_t child = nodes_[kRoot].first_child + i;
    from_root_[nodes_[child].byte] = child;
  }
}

int32_t PieceTrie::Child(int32_t node, char byte) const {
  const auto wanted = static_cast<unsigned char>(byte);
  if (node == kRoot) return from_root_[wanted];
  const auto first = nodes_.begin() + nodes_[node].first_child;
  const auto last = first + nodes_[node].children;
  const auto found =
      std::lower_bound(first, last, wanted, [](const Node& child, unsigned char value) { return child.byte < value; });
  if (found == last || found->byte != wanted) return kNone;
  return static_cast<int32_t>(found - nodes_.begin());
}

size_t PieceTrie::LongestPrefix(std::string_view text) const {
  size_t longest = 0;
  int32_t node = kRoot;
  for (size_t i = 0; i < text.size(); ++i) {
    node = Child(node, text[i]);
    if (node == kNone) break;
    if (Token(node) != kNone) longest = i + 1;
  }
  return longest;
}

}  // namespace salient

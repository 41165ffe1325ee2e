// The pieces of a vocabulary as a trie over bytes: at each place of a text, which pieces begin here.
//
// Nodes are numbered breadth first, so the children of a node are neighbours, sorted by byte: a step is a search among
// few neighbours, or a look into a table at the root, where there are many. Immutable after the constructor.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace salient {

class PieceTrie {
 public:
  static constexpr int32_t kNone = -1;
  static constexpr int32_t kRoot = 0;

  // Of pieces that are not empty and all different, each with its token.
  explicit PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces);

  // The node that `byte` leads to from `node`, or kNone.
  int32_t Child(int32_t node, char byte) const;
  // The piece that ends at the node, or kNone.
  int32_t Token(int32_t node) const { return nodes_[node].token; }

  // Length of the longest piece that `text` begins with; 0 for none.
  size_t LongestPrefix(std::string_view text) const;

 private:
  struct Node {
    int32_t first_child = 0, children = 0;
    int32_t token = kNone;
    unsigned char byte = 0;  // that leads here
  };

  std::vector<Node> nodes_;
  std::array<int32_t, 256> from_root_;
};

}  // namespace salient

#include "documents/resources/term_paths.h"

namespace salient {
namespace {

uint64_t KeyOf(TermPaths::Node node, TermPaths::Word word) { return uint64_t{node} << 32 | word; }

}  // namespace

TermPaths::Word TermPaths::NumberOf(const std::string& word) const {
  const auto found = words_.find(word);
  return found == words_.end() ? kNone : found->second;
}

TermPaths::Node TermPaths::Next(Node node, Word word) const {
  if (node == kNone || word == kNone) return kNone;
  const auto next = next_.find(KeyOf(node, word));
  return next == next_.end() ? kNone : next->second;
}

absl::Span<const size_t> TermPaths::TermsAt(Node node) const {
  if (node >= terms_at_.size()) return {};
  return terms_at_[node];
}

absl::Span<const size_t> TermPaths::TermsOf(const std::vector<std::string>& words) const {
  return TermsAt(NodeOf(words));
}

TermPaths::Node TermPaths::NodeOf(const std::vector<std::string>& words) const {
  Node node = 0;
  for (const std::string& word : words) node = Next(node, NumberOf(word));
  return node;
}

void TermPaths::Add(const std::vector<std::string>& words, size_t term) {
  Node node = 0;
  for (const std::string& word : words) {
    const Word number = words_.emplace(word, static_cast<Word>(words_.size())).first->second;
    node = next_.emplace(KeyOf(node, number), static_cast<Node>(next_.size() + 1)).first->second;
  }
  if (node >= terms_at_.size()) terms_at_.resize(node + size_t{1});
  terms_at_[node].push_back(term);
}

void TermPaths::Remove(const std::vector<std::string>& words, size_t term) {
  const Node node = NodeOf(words);
  if (node < terms_at_.size()) std::erase(terms_at_[node], term);
}

size_t TermPaths::bytes() const {
  constexpr size_t kOfEntry = 32;  // of a hash table: links, its place in the table, and its allocation
  size_t bytes = next_.size() * (kOfEntry + sizeof(uint64_t) + sizeof(Node));
  for (const auto& [word, number] : words_) bytes += kOfEntry + sizeof(std::string) + sizeof(Word) + word.size();
  bytes += terms_at_.capacity() * sizeof(std::vector<size_t>);
  for (const std::vector<size_t>& terms : terms_at_) bytes += terms.capacity() * sizeof(size_t);
  return bytes;
}

}  // namespace salient

// Terms by the words of their sources, as paths of words: to find one takes no more time where many terms begin alike.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/types/span.h"

namespace salient {

class TermPaths {
 public:
  using Word = uint32_t;  // the number of a word
  using Node = uint32_t;  // the end of a path; 0: the beginning of all
  static constexpr uint32_t kNone = UINT32_MAX;

  // kNone: no term has the word.
  Word NumberOf(const std::string& word) const;
  // kNone: no term goes on so. Either argument may be kNone.
  Node Next(Node node, Word word) const;
  // The terms of the words up to a node, which may be kNone, in the order in which they were added.
  absl::Span<const size_t> TermsAt(Node node) const;
  absl::Span<const size_t> TermsOf(const std::vector<std::string>& words) const;

  void Add(const std::vector<std::string>& words, size_t term);  // behind the others of these words
  void Remove(const std::vector<std::string>& words, size_t term);

  // About how many bytes of memory they take beside the object.
  size_t bytes() const;

 private:
  Node NodeOf(const std::vector<std::string>& words) const;

  std::unordered_map<std::string, Word> words_;
  std::unordered_map<uint64_t, Node> next_;    // by a node and a word after it
  std::vector<std::vector<size_t>> terms_at_;  // by node, as far as there are terms
};

}  // namespace salient

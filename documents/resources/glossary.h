// Terms and how they must be translated: found in a segment's source, put into its translation.
//
// A term is found where its words stand, one after the other. In the translation the words that belong to it (between
// the markers that the model has carried over, or along an alignment) are replaced by the target. So a term that is
// found is used, whatever the model says, unless no words of the translation belong to it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/markup.h"

namespace salient {

struct Term {
  std::string source, target;
  bool match_case = false;  // found in this spelling only; else a target gets a capital where its source has one
  // Found with an English plural's ending, too; and where the model says the target with an ending of at most three
  // letters, that form stays.
  bool inflects = false;
};

constexpr size_t kMostTermBytes = 1024;  // of a term's source, and of its target

struct TermMatch {
  ByteRange range;       // in the text
  int32_t term = 0;      // its index
  bool capital = false;  // the target gets a capital
};

class Glossary {
 public:
  // Lines of source, tab, target, and perhaps a tab and flags: `c` for match_case, `i` for inflects. INVALID_ARGUMENT
  // names the line.
  static absl::StatusOr<Glossary> Parse(std::string_view bytes, const DocumentLimits& limits = {});

  // INVALID_ARGUMENT where one of the two sides has no word or more than kMostTermBytes, where the source has more than
  // 100 words, or where very many terms have the same words, which differ in case and white space only. Of two terms
  // with the same source only the later is kept. If a text fits several terms that differ in case ("go", "Go"), one
  // with match_case is found, else the latest.
  absl::Status Add(Term term);
  void Add(const Glossary& other);

  const std::vector<Term>& terms() const { return terms_; }
  bool empty() const { return terms_.empty(); }

  // Left to right, disjoint; of several that begin at a word the longest.
  std::vector<TermMatch> Find(std::string_view text) const;

 private:
  // Terms as paths of words: to find one takes no more time where many terms begin alike. 0 is the beginning of all.
  using Node = uint32_t;
  using Word = uint32_t;                                      // a number of words_
  std::optional<Word> Number(const std::string& word) const;  // none: no term has the word
  std::optional<Node> Next(Node node, std::optional<Word> word) const;
  Node MakeNext(Node node, const std::string& word);
  // The term of these words that the text has at byte `at`; `plural`: whether the text has an ending more.
  const size_t* TermAt(Node node, std::string_view text, size_t at, bool plural) const;

  std::vector<Term> terms_;
  std::unordered_map<std::string, Word> words_;             // of sources, case folded
  std::unordered_map<uint64_t, Node> next_;                 // by a node and a word after it
  std::unordered_map<Node, std::vector<size_t>> terms_of_;  // the terms that end there, in the order of Add
};

// The target of a term, with a capital if TermMatch says so.
std::string TargetOf(const Term& term, bool capital);

// What stands in a translation for a term: `said`, if the term inflects and that is a form of the target; else the
// target.
std::string_view FormOf(const Term& term, std::string_view target, std::string_view said);

// Whether a word of the text begins or ends with the target, as inflected forms and compounds do; of less than four
// letters, begins.
bool HasFormOf(std::string_view text, std::string_view target);

// Finds targets in a translation. `translation` need not outlive it.
class TargetFinder {
 public:
  explicit TargetFinder(std::string_view translation);

  // Whether the target's words, or a form or compound of a single one, stand in the translation, whatever their case,
  // at a place where the target was not found before.
  bool Take(std::string_view target);

 private:
  struct Taken {
    size_t places = 0;  // of its first word
    size_t words = 0;   // that were looked at for forms
  };

  std::vector<std::string> words_;                           // of the translation, folded
  std::unordered_map<std::string, std::vector<size_t>> at_;  // where each stands in words_
  std::unordered_map<std::string, Taken> taken_;             // by target
};

}  // namespace salient

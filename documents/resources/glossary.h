// Terms and how they must be translated: found in a segment's source, put into its translation.
//
// A term is found where its words stand, one after the other. In the translation the words that belong to it (between
// the markers that the model has carried over, or along an alignment) are replaced by the target. So a term that is
// found is used, whatever the model says, unless no words of the translation belong to it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "documents/document.h"
#include "documents/markup.h"
#include "documents/resources/term_paths.h"

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
  int32_t term = 0;      // Glossary::term
  bool capital = false;  // the target gets a capital
};

// Terms of its own, and perhaps those of another glossary, which it shares instead of copying them: so a request may
// add terms to a large glossary of the server. Thread safety: const methods may be called from any thread while no
// other one runs, also of glossaries that share a part.
class Glossary {
 public:
  Glossary() = default;
  // With the terms of `shared` as if they had been added here first; null: none. `shared` lives as long as this and its
  // copies, must not change from now on, and shares none itself.
  explicit Glossary(std::shared_ptr<const Glossary> shared);

  // With the terms of AddLines.
  static absl::StatusOr<Glossary> Parse(std::string_view bytes, const DocumentLimits& limits = {});

  // Lines of source, tab, target, and perhaps a tab and flags: `c` for match_case, `i` for inflects. INVALID_ARGUMENT
  // names the line, but not the glossary. Limits are those of a document; max_units bounds the terms of its own
  // (RESOURCE_EXHAUSTED). After an error the lines before it are there.
  absl::Status AddLines(std::string_view bytes, const DocumentLimits& limits = {});

  // White space at the ends of the two sides is left out, and a line break becomes a space. INVALID_ARGUMENT where one
  // of the sides has no word or more than kMostTermBytes, where the source has more than 100 words, or where very many
  // terms have the same words, which differ in case and white space only. Of two terms with the same source only the
  // later is kept. If a text fits several terms that differ in case ("go", "Go"), one with match_case is found, else
  // the latest.
  absl::Status Add(Term term);

  size_t size() const { return shared_terms() - replaced_.size() + terms_.size(); }
  bool empty() const { return size() == 0; }
  // Without a shared part that of 0 was added first, and so on. Valid until the next Add.
  const Term& term(size_t index) const;

  // About how many bytes of memory it takes, without the shared part.
  size_t bytes() const;

  // Left to right, disjoint; of several that begin at a word the longest.
  std::vector<TermMatch> Find(std::string_view text) const;

 private:
  // A word's number, or a node, in the shared part and in this one.
  struct Both {
    uint32_t shared = TermPaths::kNone, own = TermPaths::kNone;
    bool any() const { return shared != TermPaths::kNone || own != TermPaths::kNone; }
  };
  // A word of a text, and what it is without a plural's ending.
  struct WordNumbers {
    Both itself, without_s, without_es;
  };
  using Paths = TermPaths Glossary::*;  // this_case_ or any_case_
  size_t shared_terms() const { return shared_ == nullptr ? 0 : shared_->terms_.size(); }
  std::vector<WordNumbers> NumbersOf(Paths paths, const std::vector<std::string>& words) const;
  Both Next(Paths paths, const Both& nodes, const Both& word) const;
  // The term of the words up to the nodes that counts; `plural`: of those that inflect.
  std::optional<size_t> TermAt(Paths paths, const Both& nodes, bool plural) const;

  std::shared_ptr<const Glossary> shared_;  // null: none
  std::unordered_set<size_t> replaced_;     // terms of the shared part whose source a term here has
  std::vector<Term> terms_;                 // their indices follow those of the shared part
  TermPaths this_case_, any_case_;          // those of terms_ with match_case by their words; the others by folded ones
};

// The target of a term, with a capital if TermMatch says so.
std::string TargetOf(const Term& term, bool capital);

// What stands in a translation for a term: `said`, if the term inflects and that is a form of the target; else the
// target.
std::string_view FormOf(const Term& term, std::string_view target, std::string_view said);

// Whether a word of the text begins or ends with the target, as inflected forms and compounds do; of less than four
// letters, begins. Letters as wide as those of Chinese and Korean count twice.
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
  std::unordered_map<std::string, Taken> taken_;             // by target, folded
};

}  // namespace salient

#include "documents/glossary.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "documents/alignment.h"
#include "documents/input.h"
#include "documents/tsv.h"

namespace salient {
namespace {

constexpr size_t kMostEnding = 3;  // letters that a form of a target may have beyond it

void Append(UChar32 c, std::string* text) {
  char bytes[U8_MAX_LENGTH];
  int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  text->append(bytes, static_cast<size_t>(length));
}

// The first character and the byte after it.
std::pair<UChar32, size_t> FirstOf(std::string_view text) {
  UChar32 c = 0;
  size_t next = 0;
  U8_NEXT_OR_FFFD(reinterpret_cast<const uint8_t*>(text.data()), next, text.size(), c);
  return {c, next};
}

std::string Folded(std::string_view word) {
  std::string folded;
  while (!word.empty()) {
    const auto [c, next] = FirstOf(word);
    Append(u_foldCase(c, U_FOLD_CASE_DEFAULT), &folded);
    word.remove_prefix(next);
  }
  return folded;
}

std::vector<std::string> FoldedWords(std::string_view text, const std::vector<ByteRange>& ranges) {
  std::vector<std::string> words;
  for (const ByteRange& word : ranges) words.push_back(Folded(text.substr(word.begin, word.end - word.begin)));
  return words;
}

// Whether `word` is the plural of `term`, as English makes most of them.
bool IsPlural(std::string_view word, std::string_view term) {
  if (!word.starts_with(term)) return false;
  const std::string_view ending = word.substr(term.size());
  return ending == "s" || ending == "es";
}

std::string WithCapital(std::string_view text) {
  const auto [c, next] = FirstOf(text);
  std::string changed;
  Append(u_totitle(c), &changed);
  return changed.append(text.substr(next));
}

bool IsLetterBefore(std::string_view text, size_t at) {
  if (at == 0) return false;
  UChar32 c = 0;
  auto before = static_cast<int32_t>(at);
  U8_PREV_OR_FFFD(reinterpret_cast<const uint8_t*>(text.data()), 0, before, c);
  return u_isalpha(c) != 0;
}

bool IsLetterAt(std::string_view text, size_t at) {
  return at < text.size() && u_isalpha(FirstOf(text.substr(at)).first);
}

// HasFormOf, of what is folded already.
bool HasFoldedForm(std::string_view text, std::string_view target) {
  constexpr size_t kLettersOfCompound = 4;
  if (target.empty()) return false;
  for (size_t at = text.find(target); at != text.npos; at = text.find(target, at + 1)) {
    if (!IsLetterBefore(text, at)) return true;
    if (target.size() >= kLettersOfCompound && !IsLetterAt(text, at + target.size())) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<Glossary> Glossary::Parse(std::string_view bytes, const DocumentLimits& limits) {
  if (absl::Status status = CheckText(bytes, "glossary", limits); !status.ok()) return status;
  Glossary glossary;
  const absl::Status read = ForEachTsvRow(bytes, [&](size_t line, absl::Span<const std::string_view> fields) {
    const std::string_view flags = fields.size() > 2 ? fields[2] : "";
    if (fields.size() < 2 || flags.find_first_not_of("ci") != flags.npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "glossary: line ", line, " is not a source, a tab and its target, and perhaps a tab and the flags c and i"));
    }
    const bool match_case = flags.find('c') != flags.npos, inflects = flags.find('i') != flags.npos;
    absl::Status added = glossary.Add({std::string(fields[0]), std::string(fields[1]), match_case, inflects});
    if (added.ok()) return added;
    return absl::InvalidArgumentError(absl::StrCat("glossary: line ", line, ": ", added.message()));
  });
  if (!read.ok()) return read;
  return glossary;
}

absl::Status Glossary::Add(Term term) {
  std::vector<std::string> words = FoldedWords(term.source, WordsOf(term.source));
  if (words.empty() || WordsOf(term.target).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the term '", term.source, "' with the target '", term.target, "' has a side without a word"));
  }
  std::vector<size_t>& alike = by_first_[words[0]];
  for (const size_t other : alike) {
    if (terms_[other].source != term.source) continue;
    terms_[other] = std::move(term);
    return absl::OkStatus();
  }
  alike.push_back(terms_.size());
  terms_.push_back(std::move(term));
  words_.push_back(std::move(words));
  return absl::OkStatus();
}

void Glossary::Add(const Glossary& other) {
  for (const Term& term : other.terms_) Add(term).IgnoreError();  // it was added there
}

bool Glossary::Matches(const std::vector<std::string>& words, size_t at, std::string_view text,
                       const std::vector<ByteRange>& ranges, size_t term) const {
  const std::vector<std::string>& wanted = words_[term];
  if (at + wanted.size() > words.size()) return false;
  for (size_t w = 0; w < wanted.size(); ++w) {
    const bool last = w + 1 == wanted.size();
    if (words[at + w] == wanted[w] || (last && terms_[term].inflects && IsPlural(words[at + w], wanted[w]))) continue;
    return false;
  }
  if (!terms_[term].match_case) return true;
  const size_t begin = ranges[at].begin;
  return text.substr(begin).starts_with(terms_[term].source);
}

std::vector<TermMatch> Glossary::Find(std::string_view text) const {
  std::vector<TermMatch> matches;
  if (empty()) return matches;
  const std::vector<ByteRange> ranges = WordsOf(text);
  const std::vector<std::string> words = FoldedWords(text, ranges);
  for (size_t at = 0; at < words.size();) {
    size_t longest = 0, found = 0;
    const auto look = [&](const std::string& first) {
      const auto alike = by_first_.find(first);
      if (alike == by_first_.end()) return;
      for (const size_t term : alike->second) {
        if (words_[term].size() <= longest || !Matches(words, at, text, ranges, term)) continue;
        longest = words_[term].size();
        found = term;
      }
    };
    look(words[at]);
    for (const std::string_view ending : {"s", "es"}) {  // of a term of one word
      if (longest == 0 && words[at].ends_with(ending)) look(words[at].substr(0, words[at].size() - ending.size()));
    }
    if (longest == 0) {
      ++at;
      continue;
    }
    TermMatch match{
        {ranges[at].begin, ranges[at + longest - 1].end}, static_cast<int32_t>(found), terms_[found].target};
    const bool capital = u_isupper(FirstOf(text.substr(match.range.begin)).first) != 0;
    const bool usual = u_isupper(FirstOf(terms_[found].source).first) != 0;
    if (capital && !usual && !terms_[found].match_case) match.target = WithCapital(match.target);
    matches.push_back(std::move(match));
    at += longest;
  }
  return matches;
}

std::string_view FormOf(const Term& term, std::string_view target, std::string_view said) {
  if (!term.inflects) return target;
  const std::string folded_said = Folded(said), folded_target = Folded(target);
  if (!folded_said.starts_with(folded_target)) return target;
  size_t letters = 0;
  for (std::string_view ending = std::string_view(folded_said).substr(folded_target.size()); !ending.empty();) {
    const auto [c, next] = FirstOf(ending);
    if (u_isalpha(c) == 0) return target;
    ++letters;
    ending.remove_prefix(next);
  }
  return letters <= kMostEnding ? said : target;
}

TargetFinder::TargetFinder(std::string_view translation) : words_(FoldedWords(translation, WordsOf(translation))) {
  for (size_t i = 0; i < words_.size(); ++i) at_[words_[i]].push_back(i);
}

bool TargetFinder::Take(std::string_view target) {
  constexpr size_t kMostWords = 4096;  // in which forms are looked for
  const std::vector<std::string> wanted = FoldedWords(target, WordsOf(target));
  if (wanted.empty()) return false;
  Taken& taken = taken_[std::string(target)];
  const auto places = at_.find(wanted[0]);
  while (places != at_.end() && taken.places < places->second.size()) {
    const size_t at = places->second[taken.places++];
    if (at + wanted.size() <= words_.size() && std::equal(wanted.begin(), wanted.end(), words_.begin() + at))
      return true;
  }
  while (wanted.size() == 1 && words_.size() <= kMostWords && taken.words < words_.size()) {
    const std::string& word = words_[taken.words++];
    if (word != wanted[0] && HasFoldedForm(word, wanted[0])) return true;
  }
  return false;
}

bool HasFormOf(std::string_view text, std::string_view target) { return HasFoldedForm(Folded(text), Folded(target)); }

}  // namespace salient

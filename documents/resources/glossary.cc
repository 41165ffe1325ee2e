#include "documents/resources/glossary.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "documents/input.h"
#include "documents/markers/alignment.h"
#include "documents/syntax/tsv.h"
#include "engine/base/check.h"

namespace salient {
namespace {

constexpr size_t kMostAlike = 100;      // terms with the same words
constexpr size_t kMostTermWords = 100;  // of a source: at each word of a text so many are looked at
constexpr size_t kMostEnding = 3;       // letters that a form of a target may have beyond it

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

Glossary::Glossary(std::shared_ptr<const Glossary> shared) : shared_(std::move(shared)) {
  SALIENT_CHECK(shared_ == nullptr || shared_->shared_ == nullptr);
}

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
  for (const auto& [side, text] : {std::pair("source", &term.source), std::pair("target", &term.target)}) {
    if (text->size() <= kMostTermBytes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a term's ", side, " has ", text->size(), " bytes; at most ", kMostTermBytes, " are allowed"));
  }
  const std::vector<std::string> words = FoldedWords(term.source, WordsOf(term.source));
  if (words.size() > kMostTermWords) {
    return absl::InvalidArgumentError(
        absl::StrCat("a term's source has ", words.size(), " words; at most ", kMostTermWords, " are allowed"));
  }
  if (words.empty() || WordsOf(term.target).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the term '", term.source, "' with the target '", term.target, "' has a side without a word"));
  }
  Node node = 0;
  for (const std::string& word : words) node = MakeNext(node, word);
  std::vector<size_t>& alike = terms_of_[node];
  const auto same = [&](size_t other) { return terms_[other].source == term.source; };
  if (const auto other = std::find_if(alike.begin(), alike.end(), same); other != alike.end()) {
    terms_[*other] = std::move(term);
    std::rotate(other, other + 1, alike.end());
    return absl::OkStatus();
  }
  size_t others = alike.size();
  if (shared_ != nullptr) {
    for (const size_t index : shared_->OwnTermsOf(words)) {
      if (shared_->terms_[index].source == term.source) replaced_.insert(index);
      if (!replaced_.contains(index)) ++others;
    }
  }
  if (others == kMostAlike) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", kMostAlike, " terms differ from '", term.source,
                                                   "' in case or white space only; leave some out"));
  }
  alike.push_back(terms_.size());
  terms_.push_back(std::move(term));
  return absl::OkStatus();
}

const Term& Glossary::term(size_t index) const {
  return index < shared_terms() ? shared_->terms_[index] : terms_[index - shared_terms()];
}

size_t Glossary::bytes() const {
  constexpr size_t kOfEntry = 32;  // of a hash table: links, its place in the table, and its allocation
  size_t bytes = sizeof(*this) + terms_.capacity() * sizeof(Term) + replaced_.size() * (kOfEntry + sizeof(size_t));
  for (const Term& term : terms_) bytes += term.source.size() + term.target.size();
  for (const auto& [word, number] : words_) bytes += kOfEntry + sizeof(std::string) + sizeof(Word) + word.size();
  bytes += next_.size() * (kOfEntry + sizeof(uint64_t) + sizeof(Node));
  for (const auto& [node, terms] : terms_of_) {
    bytes += 2 * kOfEntry + sizeof(std::vector<size_t>) + terms.size() * sizeof(size_t);
  }
  return bytes;
}

std::optional<Glossary::Word> Glossary::OwnNumber(const std::string& word) const {
  const auto found = words_.find(word);
  return found == words_.end() ? std::nullopt : std::optional<Word>(found->second);
}

std::optional<Glossary::Node> Glossary::OwnNext(std::optional<Node> node, std::optional<Word> word) const {
  if (!node.has_value() || !word.has_value()) return std::nullopt;
  const auto next = next_.find(uint64_t{*node} << 32 | *word);
  return next == next_.end() ? std::nullopt : std::optional<Node>(next->second);
}

Glossary::Words Glossary::Numbers(const std::string& word) const {
  return {shared_ == nullptr ? std::nullopt : shared_->OwnNumber(word), OwnNumber(word)};
}

Glossary::Nodes Glossary::Next(const Nodes& nodes, const Words& words) const {
  return {shared_ == nullptr ? std::nullopt : shared_->OwnNext(nodes.shared, words.shared),
          OwnNext(nodes.own, words.own)};
}

Glossary::Node Glossary::MakeNext(Node node, const std::string& word) {
  const Word index = words_.emplace(word, static_cast<Word>(words_.size())).first->second;
  const auto number = static_cast<Node>(next_.size() + 1);
  return next_.emplace(uint64_t{node} << 32 | index, number).first->second;
}

absl::Span<const size_t> Glossary::OwnTermsOf(std::optional<Node> node) const {
  const auto terms = node.has_value() ? terms_of_.find(*node) : terms_of_.end();
  if (terms == terms_of_.end()) return {};
  return terms->second;
}

absl::Span<const size_t> Glossary::OwnTermsOf(const std::vector<std::string>& words) const {
  std::optional<Node> node = 0;
  for (const std::string& word : words) node = OwnNext(node, OwnNumber(word));
  return OwnTermsOf(node);
}

std::optional<size_t> Glossary::TermAt(const Nodes& nodes, std::string_view text, size_t at, bool plural) const {
  std::optional<size_t> found;
  const auto look = [&](size_t index) {
    const Term& one = term(index);
    if (plural && !one.inflects) return;
    if (one.match_case ? text.substr(at).starts_with(one.source) : !found.has_value() || !term(*found).match_case) {
      found = index;
    }
  };
  if (shared_ != nullptr) {
    for (const size_t index : shared_->OwnTermsOf(nodes.shared)) {
      if (!replaced_.contains(index)) look(index);
    }
  }
  for (const size_t index : OwnTermsOf(nodes.own)) look(shared_terms() + index);
  return found;
}

std::vector<TermMatch> Glossary::Find(std::string_view text) const {
  std::vector<TermMatch> matches;
  if (empty()) return matches;
  const std::vector<ByteRange> ranges = WordsOf(text);
  struct WordOfText {
    Words itself, without_s, without_es;
  };
  std::vector<WordOfText> words;
  for (const std::string& word : FoldedWords(text, ranges)) {
    const auto without = [&](std::string_view ending) {
      return word.ends_with(ending) ? Numbers(word.substr(0, word.size() - ending.size())) : Words();
    };
    words.push_back({Numbers(word), without("s"), without("es")});
  }
  for (size_t at = 0; at < words.size();) {
    size_t longest = 0, found = 0;
    Nodes nodes{0, 0};
    for (size_t end = at; end < words.size() && nodes.any(); ++end) {  // where its last word may be
      const WordOfText& word = words[end];
      const auto look = [&](const Nodes& last, bool plural) {
        const std::optional<size_t> term = TermAt(last, text, ranges[at].begin, plural);
        if (!term.has_value() || longest == end + 1 - at) return;
        longest = end + 1 - at;
        found = *term;
      };
      const Nodes next = Next(nodes, word.itself);
      look(next, /*plural=*/false);
      look(Next(nodes, word.without_s), /*plural=*/true);
      look(Next(nodes, word.without_es), /*plural=*/true);
      nodes = next;
    }
    if (longest == 0) {
      ++at;
      continue;
    }
    TermMatch match{{ranges[at].begin, ranges[at + longest - 1].end}, static_cast<int32_t>(found)};
    const bool capital = u_isupper(FirstOf(text.substr(match.range.begin)).first) != 0;
    const bool usual = u_isupper(FirstOf(term(found).source).first) != 0;
    match.capital = capital && !usual && !term(found).match_case;
    matches.push_back(match);
    at += longest;
  }
  return matches;
}

std::string TargetOf(const Term& term, bool capital) { return capital ? WithCapital(term.target) : term.target; }

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
  Taken& taken = taken_[absl::StrJoin(wanted, " ")];
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

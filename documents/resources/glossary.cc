#include "documents/resources/glossary.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "documents/characters.h"
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

// In Unicode's normal form C, so that letters with accents are equal however they are encoded.
std::string Composed(std::string_view text) {
  std::string composed(text);
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFCInstance(error);
  const icu::StringPiece source(text.data(), static_cast<int32_t>(text.size()));
  if (U_FAILURE(error) || normalizer->isNormalizedUTF8(source, error) || U_FAILURE(error)) return composed;
  composed.clear();
  icu::StringByteSink<std::string> sink(&composed);
  normalizer->normalizeUTF8(0, source, sink, nullptr, error);
  return composed;
}

std::string Folded(std::string_view text) {
  const std::string composed = Composed(text);
  std::string folded;
  for (std::string_view left = composed; !left.empty();) {
    const auto [c, next] = FirstOf(left);
    Append(u_foldCase(c, U_FOLD_CASE_DEFAULT), &folded);
    left.remove_prefix(next);
  }
  return folded;
}

using Form = std::string (*)(std::string_view word);  // Composed or Folded

std::vector<std::string> WordsAs(Form form, std::string_view text, const std::vector<ByteRange>& ranges) {
  std::vector<std::string> words;
  for (const ByteRange& word : ranges) words.push_back(form(text.substr(word.begin, word.end - word.begin)));
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

// Whether a target is long enough to be the end of a compound, and no chance. A wide letter is a syllable or a word.
bool MayEndCompound(std::string_view target) {
  constexpr int kLetters = 4;
  int letters = 0;
  while (!target.empty() && letters < kLetters) {
    const auto [c, next] = FirstOf(target);
    const int width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
    letters += width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
    target.remove_prefix(next);
  }
  return letters >= kLetters;
}

// HasFormOf, of what is folded already.
bool HasFoldedForm(std::string_view text, std::string_view target) {
  if (target.empty()) return false;
  for (size_t at = text.find(target); at != text.npos; at = text.find(target, at + 1)) {
    if (!IsLetterBefore(text, at)) return true;
    if (!IsLetterAt(text, at + target.size()) && MayEndCompound(target)) return true;
  }
  return false;
}

}  // namespace

Glossary::Glossary(std::shared_ptr<const Glossary> shared) : shared_(std::move(shared)) {
  SALIENT_CHECK(shared_ == nullptr || shared_->shared_ == nullptr);
}

absl::StatusOr<Glossary> Glossary::Parse(std::string_view bytes, const DocumentLimits& limits) {
  Glossary glossary;
  if (absl::Status status = glossary.AddLines(bytes, limits); !status.ok()) return status;
  return glossary;
}

absl::Status Glossary::AddLines(std::string_view bytes, const DocumentLimits& limits) {
  if (absl::Status status = CheckSize(bytes, "", limits, kLeaveOut); !status.ok()) return status;
  if (absl::Status status = CheckText(bytes, "", limits); !status.ok()) return status;
  return ForEachTsvRow(bytes, [&](size_t line, absl::Span<const std::string_view> fields) {
    const std::string_view flags = fields.size() > 2 ? fields[2] : "";
    if (fields.size() < 2 || flags.find_first_not_of("ci") != flags.npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", line, " is not a source, a tab and its target, and perhaps a tab and the flags c and i"));
    }
    const bool match_case = flags.find('c') != flags.npos, inflects = flags.find('i') != flags.npos;
    absl::Status added = Add({std::string(fields[0]), std::string(fields[1]), match_case, inflects});
    if (added.ok() && terms_.size() > static_cast<size_t>(limits.max_units)) {
      return absl::ResourceExhaustedError(absl::StrCat("has more than ", limits.max_units, " terms; ", kLeaveOut));
    }
    if (added.ok()) return added;
    return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", added.message()));
  });
}

absl::Status Glossary::Add(Term term) {
  for (const auto& [side, text] : {std::pair("source", &term.source), std::pair("target", &term.target)}) {
    *text = OneLine(*text);
    if (text->size() <= kMostTermBytes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a term's ", side, " has ", text->size(), " bytes; at most ", kMostTermBytes, " are allowed"));
  }
  const std::vector<ByteRange> ranges = WordsOf(term.source);
  if (ranges.size() > kMostTermWords) {
    return absl::InvalidArgumentError(
        absl::StrCat("a term's source has ", ranges.size(), " words; at most ", kMostTermWords, " are allowed"));
  }
  if (ranges.empty() || WordsOf(term.target).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the term '", term.source, "' with the target '", term.target, "' has a side without a word"));
  }
  // By match_case.
  const Paths paths[] = {&Glossary::any_case_, &Glossary::this_case_};
  const std::vector<std::string> words[] = {WordsAs(Folded, term.source, ranges),
                                            WordsAs(Composed, term.source, ranges)};
  const size_t kind = term.match_case ? 1 : 0;
  std::optional<size_t> same;  // of terms_, with this source
  size_t others = 0;           // that are looked at together with this term
  for (const size_t of : {0, 1}) {
    for (const size_t index : (this->*paths[of]).TermsOf(words[of])) {
      const bool is_same = terms_[index].source == term.source;
      if (is_same) same = index;
      others += of == kind && !is_same ? 1 : 0;
    }
    if (shared_ == nullptr) continue;
    for (const size_t index : ((*shared_).*paths[of]).TermsOf(words[of])) {
      if (shared_->terms_[index].source == term.source) replaced_.insert(index);
      others += of == kind && !replaced_.contains(index) ? 1 : 0;
    }
  }
  if (others >= kMostAlike) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", kMostAlike, " terms differ from '", term.source,
                                                   "' in case or white space only; leave some out"));
  }
  const size_t index = same.value_or(terms_.size());
  if (same.has_value()) {
    const size_t was = terms_[index].match_case ? 1 : 0;
    (this->*paths[was]).Remove(words[was], index);
  } else {
    terms_.emplace_back();
  }
  (this->*paths[kind]).Add(words[kind], index);
  terms_[index] = std::move(term);
  return absl::OkStatus();
}

const Term& Glossary::term(size_t index) const {
  return index < shared_terms() ? shared_->terms_[index] : terms_[index - shared_terms()];
}

size_t Glossary::bytes() const {
  constexpr size_t kOfEntry = 32;  // of a hash table: links, its place in the table, and its allocation
  size_t bytes = sizeof(*this) + terms_.capacity() * sizeof(Term) + replaced_.size() * (kOfEntry + sizeof(size_t));
  for (const Term& term : terms_) bytes += term.source.size() + term.target.size();
  return bytes + this_case_.bytes() + any_case_.bytes();
}

std::vector<Glossary::WordNumbers> Glossary::NumbersOf(Paths paths, const std::vector<std::string>& words) const {
  std::vector<WordNumbers> numbers;
  numbers.reserve(words.size());
  const auto of = [&](const std::string& word) -> Both {
    return {shared_ == nullptr ? TermPaths::kNone : ((*shared_).*paths).NumberOf(word), (this->*paths).NumberOf(word)};
  };
  for (const std::string& word : words) {
    const auto without = [&](absl::string_view ending) {
      return absl::EndsWithIgnoreCase(word, ending) ? of(word.substr(0, word.size() - ending.size())) : Both();
    };
    numbers.push_back({of(word), without("s"), without("es")});
  }
  return numbers;
}

Glossary::Both Glossary::Next(Paths paths, const Both& nodes, const Both& word) const {
  return {shared_ == nullptr ? TermPaths::kNone : ((*shared_).*paths).Next(nodes.shared, word.shared),
          (this->*paths).Next(nodes.own, word.own)};
}

std::optional<size_t> Glossary::TermAt(Paths paths, const Both& nodes, bool plural) const {
  const auto last = [&](absl::Span<const size_t> terms, auto counts) -> std::optional<size_t> {
    const auto found = std::find_if(terms.rbegin(), terms.rend(), counts);
    return found == terms.rend() ? std::nullopt : std::optional(*found);
  };
  if (nodes.own != TermPaths::kNone) {
    const auto own = last((this->*paths).TermsAt(nodes.own), [&](size_t i) { return !plural || terms_[i].inflects; });
    if (own.has_value()) return shared_terms() + *own;
  }
  if (nodes.shared == TermPaths::kNone) return std::nullopt;
  return last(((*shared_).*paths).TermsAt(nodes.shared),
              [&](size_t i) { return !replaced_.contains(i) && (!plural || shared_->terms_[i].inflects); });
}

std::vector<TermMatch> Glossary::Find(std::string_view text) const {
  std::vector<TermMatch> matches;
  if (empty()) return matches;
  const std::vector<ByteRange> ranges = WordsOf(text);
  const Paths this_case = &Glossary::this_case_, any_case = &Glossary::any_case_;
  const std::vector<WordNumbers> in_this_case = NumbersOf(this_case, WordsAs(Composed, text, ranges)),
                                 in_any_case = NumbersOf(any_case, WordsAs(Folded, text, ranges));
  for (size_t at = 0; at < ranges.size();) {
    size_t longest = 0, found = 0;
    Both of_this{0, 0}, of_any{0, 0};
    for (size_t end = at; end < ranges.size() && (of_this.any() || of_any.any());
         ++end) {  // where its last word may be
      const auto look = [&](const Both& with_case, const Both& without_case, bool plural) {
        if (longest == end + 1 - at) return;
        std::optional<size_t> term = TermAt(this_case, with_case, plural);
        if (!term.has_value()) term = TermAt(any_case, without_case, plural);
        if (!term.has_value()) return;
        longest = end + 1 - at;
        found = *term;
      };
      const auto& [itself, s, es] = in_this_case[end];
      const auto& [folded, folded_s, folded_es] = in_any_case[end];
      const Both next_of_this = Next(this_case, of_this, itself), next_of_any = Next(any_case, of_any, folded);
      look(next_of_this, next_of_any, /*plural=*/false);
      look(Next(this_case, of_this, s), Next(any_case, of_any, folded_s), /*plural=*/true);
      look(Next(this_case, of_this, es), Next(any_case, of_any, folded_es), /*plural=*/true);
      of_this = next_of_this;
      of_any = next_of_any;
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

TargetFinder::TargetFinder(std::string_view translation) : words_(WordsAs(Folded, translation, WordsOf(translation))) {
  for (size_t i = 0; i < words_.size(); ++i) at_[words_[i]].push_back(i);
}

bool TargetFinder::Take(std::string_view target) {
  constexpr size_t kMostWords = 4096;  // in which forms are looked for
  const std::vector<std::string> wanted = WordsAs(Folded, target, WordsOf(target));
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

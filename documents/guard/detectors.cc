#include "documents/guard/detectors.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/strings/ascii.h"
#include "documents/language.h"

namespace salient {
namespace {

constexpr size_t kLongestPeriod = 24;    // words that a loop says again and again
constexpr size_t kSequence = 4;          // words of the sequences whose share counts
constexpr size_t kLettersOfWord = 4;     // shorter words are the same in several languages
constexpr int32_t kMostLiterals = 1000;  // of a segment; each is looked for in all of its translation

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }

// A decimal digit of any script, such as Arabic ones or those of full width.
struct Digit {
  char ascii = '0';   // of the same value
  size_t length = 0;  // bytes; 0: there is none
};

Digit DigitAt(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  if ((static_cast<unsigned char>(text[at]) & 0x80) == 0) return {text[at], IsDigit(text[at]) ? size_t{1} : 0};
  size_t next = at;
  UChar32 c;
  U8_NEXT_OR_FFFD(reinterpret_cast<const uint8_t*>(text.data()), next, text.size(), c);
  const int32_t value = u_charDigitValue(c);
  return {static_cast<char>('0' + value), value < 0 ? 0 : next - at};
}

// The bytes at `at` that may stand between digits of a number: grouping or a decimal point; 0: none.
size_t Separator(std::string_view text, size_t at) {
  for (const std::string_view mark : {".", ",", "'", "\u00A0", "\u202F", "\u2009", "\u2019", "\u066B", "\u066C"}) {
    if (text.substr(at).starts_with(mark)) return mark.size();
  }
  // A space groups digits by three.
  const std::string_view next = text.substr(at);
  const bool groups = next.size() >= 4 && next[0] == ' ' && IsDigit(next[1]) && IsDigit(next[2]) && IsDigit(next[3]);
  return groups && (next.size() == 4 || !IsDigit(next[4])) ? 1 : 0;
}

std::map<std::string, int32_t> NumbersOf(std::string_view text) {
  std::map<std::string, int32_t> numbers;
  for (size_t at = 0; at < text.size();) {
    if (DigitAt(text, at).length == 0) {
      ++at;
      continue;
    }
    std::string digits;
    while (at < text.size()) {
      if (const Digit digit = DigitAt(text, at); digit.length > 0) {
        digits.push_back(digit.ascii);
        at += digit.length;
        continue;
      }
      const size_t separator = Separator(text, at);
      if (separator == 0 || DigitAt(text, at + separator).length == 0) break;
      at += separator;
    }
    ++numbers[digits];
  }
  return numbers;
}

// Of the numbers that have at most so many digits.
int32_t CountMissing(const std::map<std::string, int32_t>& wanted, const std::map<std::string, int32_t>& there,
                     size_t most_digits = std::string::npos) {
  int32_t missing = 0;
  for (const auto& [number, count] : wanted) {
    if (number.size() > most_digits) continue;
    const auto found = there.find(number);
    missing += std::max(0, count - (found == there.end() ? 0 : found->second));
  }
  return missing;
}

// A stretch without white space: whether it is no word of any language.
bool IsLiteral(std::string_view stretch) {
  if (stretch.find("://") != std::string_view::npos) return true;
  const size_t at_sign = stretch.find('@');
  if (at_sign != std::string_view::npos && at_sign > 0 && at_sign + 1 < stretch.size()) return true;
  bool letter_before = false, has_letter = false, has_digit = false;
  for (size_t i = 0; i < stretch.size(); ++i) {
    const char c = stretch[i];
    const bool inside = i > 0 && i + 1 < stretch.size();
    if (c == '_' && inside) return true;
    if (letter_before && absl::ascii_islower(static_cast<unsigned char>(stretch[i - 1])) &&
        absl::ascii_isupper(static_cast<unsigned char>(c))) {
      return true;
    }
    letter_before = IsLetter(c);
    has_letter = has_letter || letter_before;
    has_digit = has_digit || IsDigit(c);
    if ((static_cast<unsigned char>(c) & 0x80) != 0 || c == '-') return false;  // words and ranges, such as "3-year"
  }
  return has_letter && has_digit && IsLetter(stretch.front());  // x86, utf8; but not 10th
}

std::string_view WithoutPunctuation(std::string_view stretch) {
  constexpr std::string_view kBefore = "([{<\"'", kAfter = ")]}>\"'.,;:!?";
  while (!stretch.empty() && kBefore.find(stretch.front()) != std::string_view::npos) stretch.remove_prefix(1);
  while (!stretch.empty() && kAfter.find(stretch.back()) != std::string_view::npos) stretch.remove_suffix(1);
  for (const std::string_view genitive : {"'s", "\u2019s"}) {
    if (stretch.ends_with(genitive)) stretch.remove_suffix(genitive.size());
  }
  return stretch;
}

// The spelled markers of a text (spelled_markers.h), one after another.
std::vector<std::string_view> SpelledMarkers(std::string_view text) {
  constexpr std::string_view kOpen = "\u27E6", kClose = "\u27E7";
  constexpr size_t kMostDigits = 3;
  std::vector<std::string_view> markers;
  for (size_t at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen, at + 1)) {
    const size_t digits = at + kOpen.size(), end = text.find_first_not_of("0123456789", digits);
    if (end == std::string_view::npos) break;
    const bool is_number = end > digits && end - digits <= kMostDigits;
    if (!is_number || !text.substr(end).starts_with(kClose)) continue;
    markers.push_back(text.substr(at, end + kClose.size() - at));
  }
  return markers;
}

bool IsTelling(const GuardWord& word) {
  if (!word.is_plain || word.kind != WordKind::kLetters) return false;
  const bool ascii = IsLetter(word.text.front());
  return ascii ? word.text.size() >= kLettersOfWord : word.text.size() >= 3;  // an ideograph has three bytes
}

// Languages that are easily confused have the same name here.
std::string GroupOf(std::string_view tag) {
  constexpr std::pair<std::string_view, std::string_view> kAlike[] = {
      {"nb", "da"}, {"nn", "da"}, {"no", "da"}, {"sk", "cs"}, {"gl", "pt"},  {"ms", "id"},
      {"af", "nl"}, {"bs", "sr"}, {"hr", "sr"}, {"sh", "sr"}, {"fil", "tl"},
  };
  std::string language = PrimaryLanguage(tag);
  for (const auto& [one, other] : kAlike) {
    if (one == language) return std::string(other);
  }
  return language;
}

}  // namespace

Repetition RepetitionOf(const std::vector<GuardWord>& words) {
  Repetition repetition;
  const size_t count = words.size();
  for (size_t period = 1; period <= std::min(kLongestPeriod, count / 2); ++period) {
    size_t run = 0;
    for (size_t i = period; i < count; ++i) {
      run = words[i].text == words[i - period].text ? run + 1 : 0;
      if (run >= period) repetition.looped = std::max(repetition.looped, static_cast<int32_t>(run));
    }
  }
  if (count < 2 * kSequence) return repetition;
  std::unordered_set<std::string> seen;
  size_t again = 0;
  for (size_t i = 0; i + kSequence <= count; ++i) {
    std::string sequence;
    for (size_t k = 0; k < kSequence; ++k) sequence.append(words[i + k].text).push_back(' ');
    again += !seen.insert(std::move(sequence)).second;
  }
  repetition.share = static_cast<double>(again) / static_cast<double>(count - kSequence + 1);
  return repetition;
}

NumberDifference CompareNumbers(std::string_view source, std::string_view translation) {
  const auto wanted = NumbersOf(source), there = NumbersOf(translation);
  return {CountMissing(wanted, there), CountMissing(there, wanted), CountMissing(wanted, there, 1)};
}

int32_t MissingLiterals(std::string_view source, std::string_view translation) {
  int32_t missing = 0, looked_for = 0;
  const auto look_for = [&](std::string_view literal) {
    if (looked_for++ < kMostLiterals && translation.find(literal) == std::string_view::npos) ++missing;
  };
  for (size_t at = 0; at < source.size();) {
    const size_t begin = source.find_first_not_of(" \t\n", at);
    if (begin == std::string_view::npos) break;
    at = std::min(source.find_first_of(" \t\n", begin), source.size());
    const std::string_view stretch = WithoutPunctuation(source.substr(begin, at - begin));
    if (!stretch.empty() && IsLiteral(stretch)) look_for(stretch);
  }
  for (const std::string_view marker : SpelledMarkers(source)) look_for(marker);
  return missing;
}

Copied CopiedWords(const std::vector<GuardWord>& source, const std::vector<GuardWord>& translation) {
  std::unordered_set<std::string_view> of_source;
  for (const GuardWord& word : source) {
    if (IsTelling(word)) of_source.insert(word.text);
  }
  Copied copied;
  int32_t telling = 0;
  for (const GuardWord& word : translation) {
    if (!IsTelling(word)) continue;
    ++telling;
    copied.words += of_source.contains(word.text);
  }
  if (telling > 0) copied.share = static_cast<double>(copied.words) / telling;
  return copied;
}

int32_t LongestGap(std::string_view source, const std::vector<GuardWord>& words, const std::vector<TokenLink>& links) {
  if (links.empty()) return -1;
  std::vector<bool> covered(source.size(), false);
  for (const TokenLink& link : links) {
    const size_t end = std::min<size_t>(link.source_end, source.size());
    for (size_t byte = link.source_begin; byte < end; ++byte) covered[byte] = true;
  }
  int32_t longest = 0, gap = 0;
  for (const GuardWord& word : words) {
    if (word.kind == WordKind::kOther || word.kind == WordKind::kDigits) continue;
    const auto begin = covered.begin() + (word.text.data() - source.data());
    const bool has_link = std::find(begin, begin + static_cast<ptrdiff_t>(word.text.size()), true) !=
                          begin + static_cast<ptrdiff_t>(word.text.size());
    gap = has_link ? 0 : gap + 1;
    longest = std::max(longest, gap);
  }
  return longest;
}

bool IsInOtherLanguage(const std::vector<GuardWord>& words, std::string_view target_language) {
  constexpr int32_t kFewWords = 8;
  constexpr double kMostOfIt = 0.8;
  if (target_language.empty()) return false;
  std::string plain;
  int32_t count = 0;
  for (const GuardWord& word : words) {
    if (word.kind == WordKind::kLetters && word.is_plain) {
      plain.append(word.text).push_back(' ');
      ++count;
    }
  }
  if (count < kFewWords) return false;
  const std::vector<DetectedLanguage> found = DetectLanguages(plain, /*markup=*/false);
  return !found.empty() && found[0].is_reliable && found[0].confidence >= kMostOfIt &&
         GroupOf(found[0].language) != GroupOf(target_language);
}

}  // namespace salient

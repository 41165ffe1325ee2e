#include "documents/units/accelerator.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/units/inline_spans.h"

namespace salient {
namespace {

constexpr size_t kMostOfALabel = 60;  // bytes

// A character outside of tags, placeholders and references such as "&lt;".
struct PlainCharacter {
  size_t begin = 0, end = 0;
  UChar32 value = U_SENTINEL, before = U_SENTINEL;  // before: the character to the left; none behind a tag or similar
};

bool IsPartOfAWord(UChar32 c) { return c >= 0 && u_isalnum(c); }

// The end of the reference at byte `at`, of any name, as ReadCharacterReference knows only some; `at` if there is none.
size_t ReferenceEnd(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (IsLetter(text[end]) || IsDigit(text[end]))) ++end;
  const bool is_reference = text[at] == '&' && end > at + 1 && end < text.size() && text[end] == ';';
  return is_reference ? end + 1 : at;
}

std::vector<PlainCharacter> PlainCharacters(std::string_view text) {
  std::vector<PlainCharacter> characters;
  const std::vector<InlineSpan> spans = FindInlineSpans(text, {.keep_terms = {}, .tags = true});
  auto span = spans.begin();
  UChar32 before = U_SENTINEL;
  for (size_t at = 0; at < text.size();) {
    while (span != spans.end() && span->end <= at) ++span;
    const bool in_span = span != spans.end() && span->begin <= at;
    const size_t after = in_span ? span->end : ReferenceEnd(text, at);
    if (after > at) {
      at = after;
      before = U_SENTINEL;
      continue;
    }
    int32_t next = static_cast<int32_t>(at);
    UChar32 value;
    U8_NEXT(text.data(), next, static_cast<int32_t>(text.size()), value);
    characters.push_back({at, static_cast<size_t>(next), value, before});
    before = value;
    at = static_cast<size_t>(next);
  }
  return characters;
}

bool IsLabel(std::string_view text) {
  if (text.empty() || text.size() > kMostOfALabel || text.find('\n') != std::string_view::npos) return false;
  return text.ends_with("...") || !IsOneOf(text.back(), ".!;");
}

// Whether a mark that no file declares is one.
bool MarksInLabel(const PlainCharacter& mark, const PlainCharacter& key) {
  return !IsPartOfAWord(mark.before) || (mark.value == '&' && u_islower(key.value));
}

bool WritesKeyInParentheses(UChar32 letter) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(letter, &status);
  return script == USCRIPT_HAN || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA || script == USCRIPT_HANGUL;
}

// The byte before the full stops, colons and spaces at the end: "打开(&O)...".
size_t BeforeTrailingPunctuation(std::string_view text) {
  std::string_view words = text;
  const auto cut = [&words](std::string_view tail) {
    if (!words.ends_with(tail)) return false;
    words.remove_suffix(tail.size());
    return true;
  };
  while (cut(".") || cut(":") || cut(" ") || cut("…") || cut("：")) {
  }
  return words.size();
}

}  // namespace

std::optional<Accelerator> FindAccelerator(std::string_view text, std::optional<char> mark) {
  const std::string marks = mark.has_value() ? std::string(1, *mark) : "&_";
  if (text.find_first_of(marks) == std::string_view::npos || (!mark.has_value() && !IsLabel(text))) return std::nullopt;
  const std::vector<PlainCharacter> characters = PlainCharacters(text);
  std::optional<size_t> found;  // of the characters
  for (size_t i = 0; i + 1 < characters.size(); ++i) {
    const PlainCharacter &c = characters[i], &next = characters[i + 1];
    if (c.end != next.begin || c.value > 0x7f || !IsOneOf(static_cast<char>(c.value), marks)) continue;
    if (next.value == c.value) {  // a doubled mark
      ++i;
    } else if (IsPartOfAWord(next.value) && (mark.has_value() || MarksInLabel(c, next))) {
      if (found.has_value()) return std::nullopt;
      found = i;
    }
  }
  if (!found.has_value()) return std::nullopt;
  const PlainCharacter &c = characters[*found], &key = characters[*found + 1];
  std::string_view before = text.substr(0, c.begin), after = text.substr(c.end);
  if (before.ends_with('(') && text.substr(key.end).starts_with(')')) {
    before.remove_suffix(1);
    after = text.substr(key.end + 1);
  }
  return Accelerator{std::string(before) + std::string(after), text[c.begin],
                     std::string(text.substr(key.begin, key.end - key.begin))};
}

std::string WithAccelerator(std::string_view translation, const Accelerator& accelerator) {
  const std::vector<PlainCharacter> keys = PlainCharacters(accelerator.key);
  std::optional<size_t> at_word, anywhere, first;  // bytes
  bool in_parentheses = false;
  for (const PlainCharacter& c : PlainCharacters(translation)) {
    if (!first.has_value() && u_isalpha(c.value)) {
      first = c.begin;
      in_parentheses = WritesKeyInParentheses(c.value);
    }
    if (keys.empty() || u_tolower(c.value) != u_tolower(keys[0].value)) continue;
    if (!anywhere.has_value()) anywhere = c.begin;
    if (!at_word.has_value() && !IsPartOfAWord(c.before)) at_word = c.begin;
  }
  std::string marked(translation);
  if (!first.has_value()) return marked;
  if (in_parentheses) {
    const std::string key = absl::StrCat("(", std::string(1, accelerator.mark), accelerator.key, ")");
    return marked.insert(BeforeTrailingPunctuation(translation), key);
  }
  return marked.insert(at_word.value_or(anywhere.value_or(*first)), 1, accelerator.mark);
}

}  // namespace salient

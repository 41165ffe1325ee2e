#include "documents/guard/words.h"

#include <cstdint>

#include "unicode/uchar.h"
#include "unicode/utf8.h"

namespace salient {
namespace {

bool IsIdeograph(UChar32 c) { return u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC) != 0; }

bool IsMark(UChar32 c) {
  const int8_t type = u_charType(c);
  return type == U_NON_SPACING_MARK || type == U_COMBINING_SPACING_MARK;
}

// Whether the character `words[at]` beside a word makes it a part of something else: code, or a compound.
bool Joins(const std::vector<GuardWord>& words, size_t at, size_t beyond) {
  constexpr std::string_view kOfCode = "<>/_$%&=@#*+~^|\\`{}[]";
  const GuardWord& mark = words[at];
  if (mark.kind != WordKind::kOther) return false;
  if (kOfCode.find(mark.text) != std::string_view::npos) return true;
  if (beyond >= words.size()) return false;
  const std::string_view left = at < beyond ? mark.text : words[beyond].text;
  const std::string_view right = at < beyond ? words[beyond].text : mark.text;
  return left.data() + left.size() == right.data();
}

bool IsJoined(const std::vector<GuardWord>& words, size_t at) {
  const std::string_view word = words[at].text;
  if (at > 0 && words[at - 1].text.data() + words[at - 1].text.size() == word.data() && Joins(words, at - 1, at - 2)) {
    return true;
  }
  if (at + 1 >= words.size() || word.data() + word.size() != words[at + 1].text.data()) return false;
  return Joins(words, at + 1, at + 2);
}

}  // namespace

std::vector<GuardWord> GuardWords(std::string_view text) {
  std::vector<GuardWord> words;
  const auto size = static_cast<int32_t>(text.size());
  bool open = false;  // the last word may go on
  for (int32_t at = 0; at < size;) {
    const int32_t begin = at;
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    const auto length = static_cast<size_t>(at - begin);
    const bool letter = u_isalpha(c) != 0, digit = u_isdigit(c) != 0;
    if (open && IsMark(c)) {
      words.back().text = {words.back().text.data(), words.back().text.size() + length};
    } else if ((letter && !IsIdeograph(c)) || digit) {
      const WordKind kind = digit ? WordKind::kDigits : WordKind::kLetters;
      if (!open) {
        words.push_back({text.substr(begin, 0), kind, letter && u_isupper(c) == 0 && u_istitle(c) == 0});
      } else if (words.back().kind != kind) {
        words.back().kind = WordKind::kMixed;
      }
      words.back().text = {words.back().text.data(), words.back().text.size() + length};
      open = true;
    } else {
      open = false;
      if (u_isUWhiteSpace(c) != 0) continue;
      words.push_back({text.substr(begin, length), letter ? WordKind::kLetters : WordKind::kOther, letter});
    }
  }
  for (size_t i = 0; i < words.size(); ++i) words[i].is_plain = words[i].is_plain && !IsJoined(words, i);
  return words;
}

}  // namespace salient

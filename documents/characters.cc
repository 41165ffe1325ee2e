#include "documents/characters.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "engine/text/document.h"

namespace salient {
namespace {

bool IsLineBreak(UChar32 c) { return (c >= 0x0a && c <= 0x0d) || c == 0x85 || c == 0x2028 || c == 0x2029; }

// Bytes that are not UTF-8, and characters that XML must not have and nobody sees elsewhere. White space is tested
// before.
bool IsNoText(UChar32 c) { return c < 0 || u_charType(c) == U_CONTROL_CHAR || c == 0xfffe || c == 0xffff; }

// Without what is no text and white space at its ends, and with runs of it as one space: those with a line break, or
// all.
std::string WithSingleSpaces(std::string_view text, bool all) {
  const ByteRange inner = WithoutOuterSpace(text);
  text = text.substr(inner.begin, inner.end - inner.begin);
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  std::string line, space;  // `space`: before the next character
  bool single = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    UChar32 c;
    U8_NEXT(bytes, at, text.size(), c);
    const std::string_view character = text.substr(begin, at - begin);
    if (u_isUWhiteSpace(c)) {
      single = single || all || IsLineBreak(c);
      space.append(character);
    } else if (!IsNoText(c)) {
      if (!line.empty()) line.append(single ? std::string_view(" ") : space);
      line.append(character);
      space.clear();
      single = false;
    }
  }
  return line;
}

}  // namespace

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

bool HasLetter(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    UChar32 c;
    U8_NEXT(bytes, at, text.size(), c);
    if (c >= 0 && u_isalpha(c) && !u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) return true;
  }
  return false;
}

ByteRange WithoutOuterSpace(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  ByteRange range;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    UChar32 c;
    U8_NEXT(bytes, at, text.size(), c);
    if (IsSegmentSpace(c)) continue;
    if (range.end == 0) range.begin = begin;
    range.end = at;
  }
  return range;
}

ByteRange LettersAndDigits(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  ByteRange range{text.size(), text.size()};
  bool inside = false;  // of a word
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    UChar32 c;
    U8_NEXT(bytes, at, text.size(), c);
    const bool is_mark = c >= 0 && (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
    inside = c >= 0 && (u_isalnum(c) || (inside && is_mark));
    if (!inside) continue;
    if (range.begin == text.size()) range.begin = begin;
    range.end = at;
  }
  return range;
}

std::string OneLine(std::string_view text) { return WithSingleSpaces(text, /*all=*/false); }

std::string SingleSpaces(std::string_view text) { return WithSingleSpaces(text, /*all=*/true); }

}  // namespace salient

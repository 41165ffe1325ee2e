#include "documents/office/character_escapes.h"

#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace salient {
namespace {

constexpr std::string_view kShape = "_x0000_";

bool IsLineBreak(uint32_t c) { return c >= '\n' && c <= '\r'; }

}  // namespace

CharacterEscape ReadCharacterEscape(std::string_view text, size_t at) {
  const std::string_view spelling = text.substr(at, kShape.size());
  if (spelling.size() < kShape.size() || !spelling.starts_with("_x") || !spelling.ends_with('_')) return {};
  const std::string_view digits = spelling.substr(2, 4);
  uint32_t c = 0;
  const bool is_number = std::all_of(
      digits.begin(), digits.end(), [](char digit) { return absl::ascii_isxdigit(static_cast<unsigned char>(digit)); });
  if (!is_number || !absl::SimpleHexAtoi(std::string(digits), &c)) return {};
  if ((c < ' ' && c != '\t' && !IsLineBreak(c)) || U16_IS_SURROGATE(c) || c >= 0xfffe) return {};
  char bytes[U8_MAX_LENGTH];
  int32_t count = 0;
  U8_APPEND_UNSAFE(bytes, count, c);
  return {kShape.size(), std::string(bytes, static_cast<size_t>(count))};
}

std::string WithoutCharacterEscapes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CharacterEscape escape = ReadCharacterEscape(text, at);
    out.append(escape.length > 0 ? std::string_view(escape.text) : text.substr(at, 1));
    at += std::max<size_t>(escape.length, 1);
  }
  return out;
}

std::string WithCharacterEscapes(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '_' && ReadCharacterEscape(text, at).length > 0) || c == '\v' || c == '\f' || c == '\r') {
      out.append("_x00").append(1, kDigits[c / 16]).append(1, kDigits[c % 16]);
      out.push_back('_');
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace salient

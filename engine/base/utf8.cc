#include "engine/base/utf8.h"

#include <unicode/utf8.h>

#include <cstdint>

namespace salient {

std::optional<size_t> FirstInvalidUtf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const int64_t length = static_cast<int64_t>(text.size());
  for (int64_t at = 0; at < length;) {
    const int64_t start = at;
    UChar32 c;
    U8_NEXT(bytes, at, length, c);
    if (c < 0) return static_cast<size_t>(start);
  }
  return std::nullopt;
}

std::optional<size_t> FirstInvalidText(std::string_view text) {
  const size_t nul = text.find('\0');
  const std::optional<size_t> invalid = FirstInvalidUtf8(text.substr(0, nul));
  if (invalid.has_value() || nul == std::string_view::npos) return invalid;
  return nul;
}

std::string_view Utf8Prefix(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && most - end < 3 && ContinuesCharacter(text[end])) --end;
  return text.substr(0, end);
}

bool HasUtf16Mark(std::string_view bytes) { return bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"); }

}  // namespace salient

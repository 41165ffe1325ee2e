// UTF-8: validation, and the bounds of characters.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace salient {

// The offset of the first byte that does not begin a valid UTF-8 sequence (RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF); nullopt if the whole text is valid.
std::optional<size_t> FirstInvalidUtf8(std::string_view text);

// As FirstInvalidUtf8, but NUL is invalid, too: the rule for text that the engine accepts.
std::optional<size_t> FirstInvalidText(std::string_view text);

// Whether the bytes begin with a byte order mark of UTF-16. They are not UTF-8 then.
bool HasUtf16Mark(std::string_view bytes);

// Whether the byte is not the first one of its character.
inline bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// The longest beginning of valid UTF-8 that has at most `most` bytes and whole characters only. Of other text at most
// three bytes more are left out.
std::string_view Utf8Prefix(std::string_view text, size_t most);

}  // namespace salient

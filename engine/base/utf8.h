// Validation of UTF-8.

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

}  // namespace salient

// Whether bytes are UTF-8, and if not, where they stop being so.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace salient {

// The offset of the first byte that begins no valid UTF-8 sequence (RFC 3629: no overlong forms, no surrogates, nothing
// above U+10FFFF); nothing if all of the text is valid.
std::optional<size_t> FirstInvalidUtf8(std::string_view text);

// The offset of the first byte that is NUL or begins no valid UTF-8 sequence: what the engine does not take as text.
std::optional<size_t> FirstInvalidText(std::string_view text);

}  // namespace salient

// Whether bytes are text that the engine takes.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace salient {

// The offset of the first byte that is NUL or begins no valid UTF-8 sequence (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF); none if all is text.
std::optional<size_t> FirstInvalidText(std::string_view text);

}  // namespace salient

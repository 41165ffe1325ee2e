// Whether text is UTF-8, and if not, where it stops being so. Both ends ask: the client before it sends a file, the
// server about requests whose strings protobuf refused.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace salient {

// The offset of the first byte that begins no valid UTF-8 sequence (RFC 3629: no overlong forms, no surrogates, nothing
// above U+10FFFF); nothing if all of the text is valid.
std::optional<size_t> FirstInvalidUtf8(std::string_view text);

}  // namespace salient

// Finds a segment of SplitDocument in the text that it was cut from, where line breaks in it have become spaces.

#pragma once

#include <functional>
#include <string_view>

#include "documents/markup.h"

namespace salient {

// Goes along `text` from byte `at`, where `segment` begins, and returns where it ends. Tells `piece` of every stretch:
// is_literal, or white space with a line break that became one space.
size_t WalkSegment(std::string_view text, size_t at, std::string_view segment,
                   const std::function<void(ByteRange range, bool is_literal)>& piece);

}  // namespace salient

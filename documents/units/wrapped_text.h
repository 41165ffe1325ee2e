// Finds a segment of SplitDocument in its source text, in which line breaks may stand for spaces of the segment.

#pragma once

#include <functional>
#include <string_view>

#include "documents/markup.h"

namespace salient {

// `segment` begins at byte `at` of `text`; returns its end. Calls `piece` for every stretch: literal text, or white
// space with a line break that became one space.
size_t WalkSegment(std::string_view text, size_t at, std::string_view segment,
                   const std::function<void(ByteRange range, bool is_literal)>& piece);

}  // namespace salient

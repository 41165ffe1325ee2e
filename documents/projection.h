// Puts a unit's markers into its translation, along an alignment of words.
//
// A pair goes around the target words that are aligned with the words it is around: the stretch where most of their
// weight lies within, which is the contiguous one with the greatest sum of (share of the weight - 1/2). A marker by
// itself goes where the word after it and the word before it went. What is within a pair stays within, ordered markers
// stay in order, every marker is there once: for any alignment, even none.

#pragma once

#include <string_view>

#include "documents/alignment.h"
#include "documents/markup.h"

namespace salient {

// The same function of its arguments everywhere: no clock, no chance. Where markers need white space that the
// translation lacks, some is added to it; nothing else of it changes. The result passes CheckMarkers.
MarkedText ProjectMarkers(const Unit& unit, std::string_view translation, const Alignment& alignment);

}  // namespace salient

// The parts of a unit between the markers that end a segment (Marker::breaks), such as line breaks. No segment spans
// two parts, and a part's translation stays between its breaks.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "documents/markers/alignment.h"
#include "documents/markup.h"

namespace salient {

struct UnitPart {
  ByteRange range;                        // in the unit's text
  size_t first_place = 0, end_place = 0;  // which of the unit's places it has; the break after it is end_place
};

// In order. The last part has no break after it. A unit without breaks is one part.
std::vector<UnitPart> PartsOf(const Unit& unit);

// ProjectMarkers for one part: `translation` and `alignment` are those of the part's text alone. A pair that is open
// across a break begins or ends in this part, and reaches to the break. The result has the part's markers only.
MarkedText ProjectPart(const Unit& unit, const UnitPart& part, std::string_view translation,
                       const Alignment& alignment);

}  // namespace salient

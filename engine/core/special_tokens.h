// The tokens of a vocabulary that are not text.

#pragma once

#include <cstdint>

namespace salient {

struct SpecialTokens {
  int32_t pad = 0, unknown = 1, begin = 2, end = 3, separator = 4;
  // Pieces that a translation carries over from its source, such as tags: `markers` of them from `first_marker` on.
  int32_t first_marker = 0, markers = 0;
};

}  // namespace salient

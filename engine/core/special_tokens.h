// The tokens of a vocabulary that are not text.

#pragma once

#include <cstdint>

namespace salient {

// begin: what decoding starts from; it may be the pad or the end token. separator: -1 where the model knows none, and
// each segment is a chunk of its own.
struct SpecialTokens {
  int32_t pad = 0, unknown = 1, begin = 2, end = 3, separator = 4;
  // Pieces that a translation carries over from its source, such as tags: `markers` of them from `first_marker` on.
  int32_t first_marker = 0, markers = 0;

  constexpr bool has_separator() const { return separator >= 0; }
};

}  // namespace salient

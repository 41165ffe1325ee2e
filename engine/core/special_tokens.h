// The tokens of a vocabulary that are not text.

#pragma once

#include <cstdint>

namespace salient {

// begin: the token that decoding starts from; it may be the pad or the end token. separator: -1 if the model has none;
// then each segment is a chunk of its own.
struct SpecialTokens {
  int32_t pad = 0, unknown = 1, begin = 2, end = 3, separator = 4;
  // Marker pieces, which a translation copies from its source, such as tags: `markers` tokens from `first_marker` on.
  int32_t first_marker = 0, markers = 0;

  constexpr bool has_separator() const { return separator >= 0; }
};

}  // namespace salient

// The tokens of a vocabulary that are not text.

#pragma once

#include <cstdint>

namespace salient {

// begin: the token that decoding starts from; it may be the pad or the end token. separator: -1 if the model has none;
// then each segment is a chunk of its own.
struct SpecialTokens {
  int32_t pad = 0, unknown = 1, begin = 2, end = 3, separator = 4;
  // Marker pieces, which a translation copies from its source, such as tags: `markers` tokens from `first_marker`, at
  // most kMaxMarkers. Markers 2k and 2k + 1 of a segment are a pair if they come in this order.
  int32_t first_marker = 0, markers = 0;
  bool source_end = true;  // whether a chunk's source ends in the end token

  bool operator==(const SpecialTokens&) const = default;

  constexpr bool has_separator() const { return separator >= 0; }
  // Which marker a token is; -1 where it is none.
  constexpr int32_t MarkerOf(int32_t token) const {
    return token >= first_marker && token - first_marker < markers ? token - first_marker : -1;
  }
};

inline constexpr int32_t kMaxMarkers = 32;  // so that a set of them is 32 bits

}  // namespace salient

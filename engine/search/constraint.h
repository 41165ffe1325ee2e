// What TokenConstraint means, in one place for every backend.

#pragma once

#include <cstdint>
#include <limits>

#include "engine/search/candidates.h"

namespace salient {

// A forced token is allowed whatever it is: a prefix given by the user may hold an unknown word.
constexpr bool IsAllowed(const TokenConstraint& constraint, const SpecialTokens& special, int32_t token) {
  if (constraint.forced >= 0) return token == constraint.forced;
  if (token == special.separator) return constraint.allow_separator;
  if (token == special.end) return constraint.allow_end;  // which decoding may also start from
  if (const int32_t marker = special.MarkerOf(token); marker >= 0) return (constraint.markers >> marker & 1) != 0;
  return token != special.pad && token != special.unknown && token != special.begin;
}

// Stands where fewer tokens are allowed than asked for.
inline constexpr Candidate kNoCandidate = {-1, -std::numeric_limits<float>::infinity()};

}  // namespace salient

// What TokenConstraint means, in one place for every backend.

#pragma once

#include <cstdint>
#include <limits>

#include "engine/search/candidates.h"

namespace salient {

// A forced token is allowed whatever it is, even if text never has it: a language's token, for example.
constexpr bool IsAllowed(const TokenConstraint& constraint, const SpecialTokens& special, int32_t token) {
  if (constraint.forced >= 0) return token == constraint.forced;
  if (token == special.separator) return constraint.allow_separator;
  if (token == special.end) return constraint.allow_end;  // which decoding may also start from
  if (const int32_t marker = special.MarkerOf(token); marker >= 0) return (constraint.markers >> marker & 1) != 0;
  return token != special.pad && token != special.unknown && token != special.begin;
}

// The token that a row takes where `token` has the best logit: the same, or what stands in for it. -1: it may not.
constexpr int32_t TakenFor(const TokenConstraint& constraint, const SpecialTokens& special, int32_t token) {
  if (IsAllowed(constraint, special, token)) return token;
  const bool closes = constraint.forced < 0 && (token == special.separator || token == special.end);
  return closes ? constraint.stand_in : -1;
}

// What a token counts for. One that is forced though the model suppresses it would outweigh all others of its chunk.
constexpr float LogProbabilityOf(const TokenConstraint& constraint, float log_probability) {
  const bool is_suppressed = log_probability < kSuppressed / 2 && log_probability > 2 * kSuppressed;
  return constraint.forced >= 0 && is_suppressed ? 0 : log_probability;
}

// Appends what a row takes for a token. What stands in for another may be there already, and is then left out.
constexpr void AppendTaken(const TokenConstraint& constraint, const SpecialTokens& special, const Candidate& best,
                           Candidate* candidates, int32_t& count) {
  const int32_t token = TakenFor(constraint, special, best.token);
  for (int32_t k = 0; token == constraint.stand_in && k < count; ++k) {
    if (candidates[k].token == token) return;
  }
  candidates[count++] = {token, LogProbabilityOf(constraint, best.log_probability)};
}

// Stands where fewer tokens are allowed than asked for.
inline constexpr Candidate kNoCandidate = {-1, -std::numeric_limits<float>::infinity()};

}  // namespace salient

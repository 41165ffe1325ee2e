// Scans of one row of logits, for one instruction set S (engine/base/simd_portable.h).

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/base/simd_math.h"
#include "engine/search/constraint.h"
#include "engine/search/cpu/kernels.h"

namespace salient {

template <typename S>
float LargestLogit(const float* logits, int32_t n) {
  float largest = -std::numeric_limits<float>::infinity();
  const int32_t whole = n / S::kLanes * S::kLanes;
  if (whole > 0) {
    typename S::F lanes = S::Load(logits);
    for (int32_t v = S::kLanes; v < whole; v += S::kLanes) lanes = S::Max(lanes, S::Load(logits + v));
    largest = S::Largest(lanes);
  }
  for (int32_t v = whole; v < n; ++v) largest = logits[v] > largest ? logits[v] : largest;
  return largest;
}

// Four sums side by side hide the latency of the chain; the order is the same for every row.
template <typename S>
float SumExp(const float* logits, int32_t n, float largest) {
  using F = typename S::F;
  constexpr int kChains = 4;
  constexpr float kLog2E = 1.44269504f;
  const F scale = S::Set(kLog2E), top = S::Set(largest);
  F sums[kChains];
  for (F& sum : sums) sum = S::Set(0);
  int32_t v = 0;
  for (; v + kChains * S::kLanes <= n; v += kChains * S::kLanes) {
    for (int k = 0; k < kChains; ++k) {
      const F x = S::Mul(S::Sub(S::Load(logits + v + k * S::kLanes), top), scale);
      sums[k] = S::Add(sums[k], Exp2<S>(x));
    }
  }
  float total = S::Sum(S::Add(S::Add(sums[0], sums[1]), S::Add(sums[2], sums[3])));
  for (; v < n; ++v) total += std::exp(logits[v] - largest);
  return total;
}

// Puts a token that is better than the last of `count`, or finds room, in its place. Tokens come in ascending order, so
// that one which equals another stays behind it.
template <typename S>
void InsertCandidate(Candidate* candidates, int32_t& count, int32_t width, int32_t token, float logit) {
  if (count < width) ++count;
  int32_t at = count - 1;
  for (; at > 0 && logit > candidates[at - 1].log_probability; --at) candidates[at] = candidates[at - 1];
  candidates[at] = {token, logit};
}

template <typename S>
int32_t BestTokens(const float* logits, int32_t n, const TokenConstraint& constraint, const SpecialTokens& special,
                   int32_t width, Candidate* candidates) {
  if (width <= 0) return 0;
  int32_t count = 0;
  const auto consider = [&](int32_t token) {
    const float logit = logits[token];
    const bool better = count < width ? logit == logit : logit > candidates[count - 1].log_probability;
    if (better && TakenFor(constraint, special, token) >= 0) {
      InsertCandidate<S>(candidates, count, width, token, logit);
    }
  };
  int32_t v = 0;
  while (v < n && (count < width || v % S::kLanes != 0)) consider(v++);
  // Once the list is full, few tokens are better than its last.
  for (; v + S::kLanes <= n; v += S::kLanes) {
    const typename S::F last = S::Set(candidates[count - 1].log_probability);
    for (uint32_t bits = S::Above(S::Load(logits + v), last); bits != 0; bits &= bits - 1) {
      consider(v + __builtin_ctz(bits));
    }
  }
  for (; v < n; ++v) consider(v);
  return count;
}

template <typename S>
constexpr SearchKernels SearchTable() {
  return {.largest = LargestLogit<S>, .sum_exp = SumExp<S>, .best = BestTokens<S>};
}

}  // namespace salient

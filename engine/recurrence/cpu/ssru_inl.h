// The recurrence of one row, for one instruction set S (engine/base/simd_portable.h). Every file that includes this
// makes its own table with RecurrenceTable<Simd>().

#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/simd_math.h"
#include "engine/recurrence/cpu/kernels.h"

namespace salient {

template <typename S>
void SsruRow(const float* input, const float* before, int32_t width, float* after, float* output) {
  using F = typename S::F;
  constexpr float kLog2E = 1.44269504f;
  constexpr int32_t kAtOnce = 64;  // components; a multiple of every number of lanes
  float less[kAtOnce];             // exp(-forget), before the sigmoid
  for (int32_t first = 0; first < width; first += kAtOnce) {
    const int32_t n = std::min(kAtOnce, width - first);
    const float *x = input + first, *forget = x + width;
    for (int32_t c = 0; c < n; c += S::kLanes) {
      // Beyond 2^126 the sigmoid is 0 in fp32. Max and Exp2 keep a NaN.
      const F power = S::Mul(LoadUpTo<S>(forget + c, n - c), S::Set(-kLog2E));
      const F bounded = S::Sub(S::Set(0), S::Max(S::Set(-126.0f), S::Sub(S::Set(0), power)));
      StoreUpTo<S>(less + c, Exp2<S>(bounded), n - c);
    }
    for (int32_t c = 0; c < n; ++c) {
      const float f = 1.0f / (1.0f + less[c]);
      const float kept = before == nullptr ? 0.0f : f * before[first + c];
      const float state = kept + (1.0f - f) * x[c];
      after[first + c] = state;
      output[first + c] += state < 0 ? 0.0f : state;
    }
  }
}

template <typename S>
constexpr RecurrenceKernels RecurrenceTable() {
  return {.ssru = SsruRow<S>};
}

}  // namespace salient

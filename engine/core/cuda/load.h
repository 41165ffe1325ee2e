// Loads that kernels of several operations share.

#pragma once

#include "engine/core/cuda/language.h"

namespace salient::cuda {

// The kCount floats from x on, of which `left` are there; the others are zeros. `wide`: x is aligned to them.
template <int kCount>
__device__ void LoadFloats(const float* x, int32_t left, bool wide, float (&values)[kCount]) {
  if (wide && left >= kCount) {
    if constexpr (kCount == 2) {
      const float2 word = *reinterpret_cast<const float2*>(x);
      values[0] = word.x;
      values[1] = word.y;
    } else {
      static_assert(kCount == 4);
      const float4 word = *reinterpret_cast<const float4*>(x);
      values[0] = word.x;
      values[1] = word.y;
      values[2] = word.z;
      values[3] = word.w;
    }
    return;
  }
#pragma unroll
  for (int c = 0; c < kCount; ++c) values[c] = c < left ? x[c] : 0.0f;
}

}  // namespace salient::cuda

// A row of states held by one warp, its layer norm, and the rotation of a pair: what kernels of several operations
// share. Fused operations are written out (fmaf, __fmul_rn), so that all of them round alike.

#pragma once

#include "engine/core/cuda/load.h"

namespace salient::cuda {

// Lane l holds the components 4 (l + 32 g) .. + 3 of the row, for each group g; those past the width are zeros.
template <int kGroups>
struct HeldRow {
  static constexpr int kGroup = 4;
  static constexpr int32_t kWidest = kGroups * kGroup * kWarp;
  float values[kGroups][kGroup];

  static __device__ int32_t First(int g) { return (static_cast<int32_t>(threadIdx.x) % kWarp + g * kWarp) * kGroup; }

  __device__ void Clear() {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int c = 0; c < kGroup; ++c) values[g][c] = 0;
    }
  }
  __device__ void Load(const float* x, int32_t width) {
    const bool wide = width % kGroup == 0 && reinterpret_cast<uintptr_t>(x) % sizeof(float4) == 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) LoadFloats(x + First(g), width - First(g), wide, values[g]);
  }
  // Two passes over the values: of a large offset nothing is lost. By whole warps.
  __device__ void Norm(const float* weight, const float* bias, float epsilon, int32_t width) {
    const bool wide = width % kGroup == 0 && reinterpret_cast<uintptr_t>(weight) % sizeof(float4) == 0 &&
                      reinterpret_cast<uintptr_t>(bias) % sizeof(float4) == 0;
    float sum = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int c = 0; c < kGroup; ++c) sum = __fadd_rn(sum, values[g][c]);
    }
    const float mean = WarpSum(sum) / static_cast<float>(width);
    float squares = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int c = 0; c < kGroup; ++c) {
        const float off = First(g) + c < width ? values[g][c] - mean : 0.0f;
        squares = fmaf(off, off, squares);
      }
    }
    const float inverse = 1.0f / sqrtf(WarpSum(squares) / static_cast<float>(width) + epsilon);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      float weights[kGroup], biases[kGroup];
      LoadFloats(weight + First(g), width - First(g), wide, weights);
      LoadFloats(bias + First(g), width - First(g), wide, biases);
#pragma unroll
      for (int c = 0; c < kGroup; ++c) {
        values[g][c] = fmaf(__fmul_rn(values[g][c] - mean, inverse), weights[c], biases[c]);
      }
    }
  }
  __device__ void Store(float* y, int32_t width) const {
    const bool wide = width % kGroup == 0 && reinterpret_cast<uintptr_t>(y) % sizeof(float4) == 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int32_t first = First(g);
      if (wide && first < width) {
        *reinterpret_cast<float4*>(y + first) = make_float4(values[g][0], values[g][1], values[g][2], values[g][3]);
        continue;
      }
#pragma unroll
      for (int c = 0; c < kGroup; ++c) {
        if (first + c < width) y[first + c] = values[g][c];
      }
    }
  }
};

// Angles: position * turns in double precision, of which only the fraction of a turn is kept, then fp32 sine and cosine
// of that: as exact for position 9000 as for position 1, at three double operations an angle.
__device__ inline void Turn(int32_t position, double turns, float* sine, float* cosine) {
  const double angle = __dmul_rn(position, turns);
  sincospif(static_cast<float>(2 * (angle - rint(angle))), sine, cosine);
}

// The pair of components c and c + half (RotateArgs).
__device__ inline void RotatePair(int32_t position, double turns, float* low, float* high) {
  float sine, cosine;
  Turn(position, turns, &sine, &cosine);
  const float a = *low, b = *high;
  *low = fmaf(a, cosine, -__fmul_rn(b, sine));
  *high = fmaf(b, cosine, __fmul_rn(a, sine));
}

}  // namespace salient::cuda

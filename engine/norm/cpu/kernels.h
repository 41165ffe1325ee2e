// The inner loops of layer norm, embedding and rotation, one table of them for each instruction set.

#pragma once

#include <cstdint>

#include "engine/base/cpu_features.h"

namespace salient {

struct NormKernels {
  void (*layer_norm)(const float* x, int32_t width, const float* weight, const float* bias, float epsilon, float* y);
  // The sine and cosine of 2 pi position turns[c]: how far each component turns from one position to the next.
  void (*sin_cos)(double position, const double* turns, int32_t n, float* sine, float* cosine);
  // y = x * scale
  void (*scale)(const float* x, int32_t n, float scale, float* y);
  // y = x * scale + addend
  void (*scale_add)(const float* x, int32_t n, float scale, const float* addend, float* y);
  // Turns the pairs (a_c, b_c) by the angles of sine and cosine.
  void (*rotate)(float* a, float* b, const float* sine, const float* cosine, int32_t n);
};

const NormKernels& NormKernelsFor(CpuIsa isa);

extern const NormKernels kNormPortable, kNormAvx2, kNormAvx512;

}  // namespace salient

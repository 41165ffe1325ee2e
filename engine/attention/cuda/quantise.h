// int8 components of selection queries and keys on a device: the same bits as QuantiseComponent of
// engine/attention/quantise.h.

#pragma once

#include "engine/core/cuda/language.h"

namespace salient::cuda {

// Rounds half to even and clamps to [-127, 127]; a NaN becomes 127, as comparisons written this way round make it.
__device__ inline int32_t Quantise(float value, float factor) {
  const float scaled = value * factor;
  const float below = scaled < 127.0f ? scaled : 127.0f;
  return __float2int_rn(-127.0f < below ? below : -127.0f);
}

// Four components, the first in the lowest byte.
__device__ inline int32_t QuantiseWord(const float* values, float factor) {
  uint32_t word = 0;
  for (int c = 0; c < 4; ++c) word |= (static_cast<uint32_t>(Quantise(values[c], factor)) & 0xff) << (8 * c);
  return static_cast<int32_t>(word);
}

}  // namespace salient::cuda

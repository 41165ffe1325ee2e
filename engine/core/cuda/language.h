// The language that kernels are written in: CUDA C++, and the few words that plain C++ needs to stand in for it.
//
// nvcc compiles a kernel's file for the devices. Any C++ compiler compiles the same file against cuda_emulation.h,
// which the tests put on the include path: there a block's threads are fibers on the host (tests/cuda/emulation). This
// file is the only place that knows of both. Beyond CUDA's own words kernels use
//
//   Launch(device, shape, kernel, arguments...)  instead of kernel<<<...>>>, one place for errors and attributes
//   DynamicShared()                              the block's dynamic shared memory, aligned to 16
//   WaitForPrevious()                            first statement of every kernel: see there

#pragma once

#include <cstdint>

#ifdef __CUDACC__
#include "engine/core/cuda/language_nvcc.h"
#else
#include "cuda_emulation.h"
#endif

#include "engine/core/rows.h"

namespace salient::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// Rows as kernels read them.
__device__ inline int32_t RowCount(const Rows& rows) {
  return rows.count == nullptr ? rows.capacity : min(*rows.count, rows.capacity);
}
__device__ inline int32_t RowAt(const Rows& rows, int32_t i) { return rows.index == nullptr ? i : rows.index[i]; }

__host__ __device__ constexpr int CeilDiv(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// Sums and maxima of a warp; every lane gets the same bits, because a butterfly adds the same pairs everywhere.
__device__ inline float WarpSum(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}
__device__ inline float WarpMax(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

// bf16 as the KV store keeps it (engine/core/bf16.h), to the bit, NaNs included.
__device__ inline float FloatOfBF16(uint16_t value) { return __uint_as_float(static_cast<uint32_t>(value) << 16); }
__device__ inline uint16_t BF16OfFloat(float value) {
  const uint32_t bits = __float_as_uint(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace salient::cuda

// Products of few rows on tensor cores: what LinearFewKernel and ProjectKernel share. The rows of a block lie in shared
// memory as first operands, weights come as second operands straight from memory (kernels.h), a warp's first ones
// before it waits for the kernel before it.

#pragma once

#include "engine/core/cuda/tensor_core.h"
#include "engine/linear/cuda/kernels.h"

namespace salient::cuda::few {

inline constexpr int kWarps = 8;
inline constexpr int kThreads = kWarps * kWarp;
inline constexpr int kStepWords = kFragmentWords / 2;  // of one product
inline constexpr int kHeldSteps = 32;                  // of each row in shared memory at a time
inline constexpr int kAhead = 4;                       // fragments that a warp asks for in advance, over its tiles
inline constexpr int32_t kFewOutputs = 4096;
inline constexpr float kTiny = 1e-36f;  // 127 / max would overflow; nothing that small can be told from zero

// How a layer is divided: kSlices warps share outputs, each with every kSlices-th part of the inputs; a warp has kTiles
// times 8 outputs.
template <int kSlicesOfInputs, int kTilesOfOutputs>
struct Division {
  static constexpr int kSlices = kSlicesOfInputs, kTiles = kTilesOfOutputs;
  static constexpr int kBlockTiles = kWarps / kSlices * kTiles;
};
using FewOutputs = Division<4, 1>;
using ManyOutputs = Division<1, 2>;

// Rows for which weights are asked for before it is known whether there are so many: with exits the capacity has room
// for keys that were skipped, hundreds of rows that are there now and then.
inline constexpr int32_t kLikelyRows = 64;

// How many times 16 rows a block of `FewOutputs` takes: 16 rows where such blocks fill a wave of two a multiprocessor
// at most, else 32. Fewer rows and fewer outputs a block are more blocks, each with less to read before it can begin.
// No row's bits depend on it.
inline int RowTilesFor(Device& device, int32_t blocks, int32_t capacity) {
  if (capacity <= 16) return 1;
  return capacity <= kLikelyRows && blocks * CeilDiv(capacity, 16) <= 2 * device.multiprocessors() ? 1 : 2;
}

// What of a row the products do not see: x ~ q * scale, q = round(x * factor). For int8 only.
struct RowScale {
  float factor, scale;
};

struct BF16 {
  using Sum = float;
  static constexpr int kPerWord = 2;
  static constexpr bool kScaled = false;

  static __device__ uint32_t Word(const float (&x)[kPerWord], const RowScale&) { return PackBF16(x[0], x[1]); }
  static __device__ float Result(const WeightsInFragments& weights, const RowScale&, int32_t output, float sum) {
    return sum + weights.bias[output];
  }
};

struct Int8 {
  using Sum = int32_t;
  static constexpr int kPerWord = 4;
  static constexpr bool kScaled = true;

  static __device__ uint32_t Word(const float (&x)[kPerWord], const RowScale& row) {
    uint32_t word = 0;
#pragma unroll
    for (int c = 0; c < kPerWord; ++c) {
      word |= (static_cast<uint32_t>(__float2int_rn(x[c] * row.factor)) & 0xff) << (8 * c);
    }
    return word;
  }
  // Products and sums are rounded apart, as the CPU rounds them.
  static __device__ float Result(const WeightsInFragments& weights, const RowScale& row, int32_t output, int32_t sum) {
    const float scale = __fmul_rn(row.scale, weights.scale[output]);
    return __fadd_rn(__fmul_rn(static_cast<float>(sum), scale), weights.bias[output]);
  }
};

// Where in shared memory a lane's share of a step's first operand is: [step][row tile][lane], 16 bytes longer a step,
// so that rows written a whole row at a time do not meet in a bank.
template <int kRowTiles>
__device__ constexpr int32_t HeldAt(int32_t step, int32_t tile, int32_t lane) {
  return step * (kRowTiles * kWarp + 1) + tile * kWarp + lane;
}
template <int kRowTiles>
constexpr size_t HeldBytes(int32_t steps) {
  return static_cast<size_t>(steps) * (kRowTiles * kWarp + 1) * sizeof(uint4);
}

// The scale of a row whose largest |x| has these bits. A value that is not finite makes it NaN, and so the row's
// results.
__device__ inline RowScale ScaleOf(int32_t bits) {
  const float largest = __uint_as_float(static_cast<uint32_t>(bits));
  const bool finite = bits < 0x7f800000, none = !(largest > kTiny);
  return {finite && !none ? 127.0f / largest : 0.0f, !finite ? NAN : none ? 0.0f : largest / 127.0f};
}
// Ordered as the magnitudes are; and the largest of a warp.
__device__ inline int32_t MagnitudeBits(float x) { return static_cast<int32_t>(__float_as_uint(x) & 0x7fffffffu); }
__device__ inline int32_t LargestBits(int32_t value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value = max(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

// A warp's weights: those of its tiles, by chunks of 16 words of inputs; its slice's chunks from `from` on.
template <typename Divided>
struct WarpWeights {
  static constexpr int kAheadChunks = kAhead / Divided::kTiles;
  const uint4* fragments[Divided::kTiles];
  uint4 ahead[kAheadChunks][Divided::kTiles];

  __device__ WarpWeights(const WeightsInFragments& weights, int32_t chunks, int32_t tile) {
    const int32_t tiles = CeilDiv(weights.outputs, kFragmentOutputs);
#pragma unroll
    for (int n = 0; n < Divided::kTiles; ++n) {
      const int32_t own = min(tile + n, tiles - 1);  // a tile past the end is worked out and thrown away
      fragments[n] = weights.fragments + static_cast<size_t>(own) * chunks * kWarp + threadIdx.x % kWarp;
    }
  }
  __device__ void LoadAhead(int32_t first, int32_t last) {
#pragma unroll
    for (int a = 0; a < kAheadChunks; ++a) {
#pragma unroll
      for (int n = 0; n < Divided::kTiles; ++n) {
        const int32_t chunk = first + a * Divided::kSlices;
        if (chunk < last) ahead[a][n] = fragments[n][static_cast<size_t>(chunk) * kWarp];
      }
    }
  }
};

// Adds the products of one chunk, the `own`-th of those that are held.
template <typename Divided, int kRowTiles, typename Sum>
__device__ void MultiplyChunk(const uint4 (&words)[Divided::kTiles], const uint4* held, int32_t own,
                              Sum (&sums)[Divided::kTiles][kRowTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
    const uint4 low = held[HeldAt<kRowTiles>(2 * own, m, lane)];
    const uint4 high = held[HeldAt<kRowTiles>(2 * own + 1, m, lane)];
#pragma unroll
    for (int n = 0; n < Divided::kTiles; ++n) {
      MultiplyAdd(sums[n][m], {low.x, low.y, low.z, low.w}, {words[n].x, words[n].y});
      MultiplyAdd(sums[n][m], {high.x, high.y, high.z, high.w}, {words[n].z, words[n].w});
    }
  }
}

// Adds the products of the inputs that are held and belong to this warp's slice, `ahead` first.
template <typename Divided, int kRowTiles, typename Sum>
__device__ void Multiply(const WarpWeights<Divided>& weights, const uint4* held, int32_t from, int32_t last,
                         int32_t slice, Sum (&sums)[Divided::kTiles][kRowTiles][4]) {
#pragma unroll
  for (int a = 0; a < WarpWeights<Divided>::kAheadChunks; ++a) {
    const int32_t own = slice + a * Divided::kSlices;
    if (from + own < last) MultiplyChunk<Divided, kRowTiles>(weights.ahead[a], held, own, sums);
  }
#pragma unroll 4
  for (int32_t own = slice + WarpWeights<Divided>::kAheadChunks * Divided::kSlices; from + own < last;
       own += Divided::kSlices) {
    uint4 words[Divided::kTiles];
#pragma unroll
    for (int n = 0; n < Divided::kTiles; ++n) {
      words[n] = weights.fragments[n][static_cast<size_t>(from + own) * kWarp];
    }
    MultiplyChunk<Divided, kRowTiles>(words, held, own, sums);
  }
}

// Of what the warps that divide the inputs have written, `stride` apart: in the order of the slices.
template <typename Divided, typename Sum>
__device__ Sum SumOfSlices(const Sum* slices, int32_t stride) {
  Sum sum = slices[0];
#pragma unroll
  for (int slice = 1; slice < Divided::kSlices; ++slice) sum += slices[slice * stride];
  return sum;
}

}  // namespace salient::cuda::few

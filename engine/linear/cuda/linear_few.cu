// Linear layers on tensor cores for a step's few rows, every weight read once a block of rows: bf16 products with fp32
// sums, or int8 products with integer sums.
//
// Weights lie in memory as the lanes want them (kernels.h), so that a warp streams them in whole words of 512 bytes
// straight into registers. The rows are rounded to bf16, or quantised, and put into shared memory in the same way, a
// part of the inputs at a time. For int8 every block finds its rows' largest values by itself: they are read twice,
// from the cache, and nothing has to be launched before.
//
// A block has 8 warps. Where a layer has few outputs, four warps divide the inputs among them (every fourth 16 words)
// so that more blocks, and more loads, are under way; their sums are added in a fixed order. How a layer is divided
// follows from its own size, and a row's sums are its own row of the products: so its bits do not depend on the rows
// beside it.

#include "engine/core/cuda/tensor_core.h"
#include "engine/linear/cuda/epilogue.h"
#include "engine/linear/cuda/kernels.h"

namespace salient::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kStepWords = kFragmentWords / 2;  // of one product
constexpr int kHeldSteps = 32;                  // of each row in shared memory at a time
constexpr int32_t kFewOutputs = 4096;
constexpr float kTiny = 1e-36f;  // 127 / max would overflow; nothing that small can be told from zero

// How a layer is divided: kSlices warps share outputs, each with every kSlices-th part of the inputs; a warp has kTiles
// times 8 outputs.
template <int kSlicesOfInputs, int kTilesOfOutputs>
struct Division {
  static constexpr int kSlices = kSlicesOfInputs, kTiles = kTilesOfOutputs;
  static constexpr int kBlockTiles = kWarps / kSlices * kTiles;
};
using FewOutputs = Division<4, 1>;
using ManyOutputs = Division<1, 2>;

// What of a row the products do not see: x ~ q * scale, q = round(x * factor). For int8 only.
struct RowScale {
  float factor, scale;
};

struct BF16 {
  using Sum = float;
  static constexpr int kPerWord = 2;
  static constexpr bool kScaled = false;

  // Inputs x[0], x[1] of `left` that there are.
  static __device__ uint32_t Word(const float* x, int32_t left, const RowScale&) {
    return PackBF16(left > 0 ? x[0] : 0.0f, left > 1 ? x[1] : 0.0f);
  }
  static __device__ float Result(const WeightsInFragments& weights, const RowScale&, int32_t output, float sum) {
    return sum + weights.bias[output];
  }
};

struct Int8 {
  using Sum = int32_t;
  static constexpr int kPerWord = 4;
  static constexpr bool kScaled = true;

  static __device__ uint32_t Word(const float* x, int32_t left, const RowScale& row) {
    uint32_t word = 0;
#pragma unroll
    for (int c = 0; c < kPerWord; ++c) {
      const int32_t value = c < left ? __float2int_rn(x[c] * row.factor) : 0;
      word |= (static_cast<uint32_t>(value) & 0xff) << (8 * c);
    }
    return word;
  }
  // Products and sums are rounded apart, as the CPU rounds them.
  static __device__ float Result(const WeightsInFragments& weights, const RowScale& row, int32_t output, int32_t sum) {
    const float scale = __fmul_rn(row.scale, weights.scale[output]);
    return __fadd_rn(__fmul_rn(static_cast<float>(sum), scale), weights.bias[output]);
  }
};

// The scales of the block's rows. A row with a value that is not finite gets the scale NaN, and so do its results.
template <int kRowTiles>
__device__ void ScaleRows(const LinearArgs& args, int32_t inputs, int32_t first_row, int32_t rows, RowScale* scales) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int r = warp; r < kRowTiles * 16; r += kWarps) {
    int32_t bits = 0;  // of the largest |x|: ordered as the numbers are
    if (first_row + r < rows) {
      const float* x = args.input + static_cast<size_t>(first_row + r) * inputs;
#pragma unroll 4
      for (int32_t c = lane; c < inputs; c += kWarp) {
        bits = max(bits, static_cast<int32_t>(__float_as_uint(x[c]) & 0x7fffffffu));
      }
    }
    for (int step = kWarp / 2; step > 0; step /= 2) bits = max(bits, __shfl_xor_sync(kAllLanes, bits, step));
    if (lane != 0) continue;
    const float largest = __uint_as_float(static_cast<uint32_t>(bits));
    const bool finite = bits < 0x7f800000, none = !(largest > kTiny);
    scales[r].factor = finite && !none ? 127.0f / largest : 0.0f;
    scales[r].scale = !finite ? NAN : none ? 0.0f : largest / 127.0f;
  }
}

// Brings the block's rows, from input `from` on, into first operands: [step][row tile][lane].
template <typename Format, int kRowTiles>
__device__ void HoldRows(const LinearArgs& args, int32_t inputs, int32_t first_row, int32_t rows, int32_t from,
                         const RowScale* scales, uint4* held) {
  constexpr int kFragmentInputs = kFragmentWords * Format::kPerWord;
  const int32_t steps = min(kHeldSteps, CeilDiv(inputs - from, kFragmentInputs) * 2);
  for (auto at = static_cast<int32_t>(threadIdx.x); at < steps * kRowTiles * kWarp; at += kThreads) {
    const int32_t lane = at % kWarp, tile = at / kWarp % kRowTiles, step = at / kWarp / kRowTiles;
    const int32_t row = tile * 16 + lane / 4;
    const int32_t column = from + (step * kStepWords + lane % 4) * Format::kPerWord;
    uint32_t parts[4];
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const int32_t r = row + p % 2 * 8, c = column + p / 2 * 4 * Format::kPerWord;
      const int32_t left = first_row + r < rows ? inputs - c : 0;
      const RowScale scale = Format::kScaled ? scales[r] : RowScale{};
      parts[p] = Format::Word(args.input + static_cast<size_t>(first_row + r) * inputs + c, left, scale);
    }
    held[at] = make_uint4(parts[0], parts[1], parts[2], parts[3]);
  }
}

// Adds the products of the inputs that are held and belong to this warp's slice. Chunks are 16 words of inputs.
template <typename Divided, int kRowTiles, typename Sum>
__device__ void Multiply(const WeightsInFragments& weights, const uint4* held, int32_t from_chunk, int32_t chunks,
                         int32_t tile, int32_t slice, Sum (&sums)[Divided::kTiles][kRowTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int32_t held_chunks = min(kHeldSteps / 2, chunks - from_chunk);
  const int32_t tiles = CeilDiv(weights.outputs, kFragmentOutputs);
  const uint4* fragments[Divided::kTiles];
#pragma unroll
  for (int n = 0; n < Divided::kTiles; ++n) {
    const int32_t own = min(tile + n, tiles - 1);  // a tile past the end is worked out and thrown away
    fragments[n] = weights.fragments + (static_cast<size_t>(own) * chunks + from_chunk) * kWarp + lane;
  }
#pragma unroll 4
  for (int32_t chunk = slice; chunk < held_chunks; chunk += Divided::kSlices) {
    uint4 words[Divided::kTiles];
#pragma unroll
    for (int n = 0; n < Divided::kTiles; ++n) words[n] = fragments[n][chunk * kWarp];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      const uint4 low = held[(2 * chunk * kRowTiles + m) * kWarp + lane];
      const uint4 high = held[((2 * chunk + 1) * kRowTiles + m) * kWarp + lane];
#pragma unroll
      for (int n = 0; n < Divided::kTiles; ++n) {
        MultiplyAdd(sums[n][m], {low.x, low.y, low.z, low.w}, {words[n].x, words[n].y});
        MultiplyAdd(sums[n][m], {high.x, high.y, high.z, high.w}, {words[n].z, words[n].w});
      }
    }
  }
}

// Adds the other slices' sums to the first slice's, in their order; the others' are spent.
template <typename Divided, int kRowTiles, typename Sum>
__device__ void AddSlices(Sum* scratch, int32_t slice, Sum (&sums)[Divided::kTiles][kRowTiles][4]) {
  if (Divided::kSlices == 1) return;
  constexpr int kOwn = Divided::kTiles * kRowTiles * 4;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  __syncthreads();  // the rows that lay here are no longer read
#pragma unroll
  for (int s = 0; s < kOwn; ++s) {
    scratch[(warp * kOwn + s) * kWarp + lane] = sums[s / (kRowTiles * 4)][s / 4 % kRowTiles][s % 4];
  }
  __syncthreads();
  if (slice != 0) return;
#pragma unroll
  for (int other = 1; other < Divided::kSlices; ++other) {
#pragma unroll
    for (int s = 0; s < kOwn; ++s) {
      sums[s / (kRowTiles * 4)][s / 4 % kRowTiles][s % 4] += scratch[((warp + other) * kOwn + s) * kWarp + lane];
    }
  }
}

template <typename Format, typename Divided, int kRowTiles>
__global__ void __launch_bounds__(kThreads, 2) LinearFewKernel(WeightsInFragments weights, LinearArgs args) {
  WaitForPrevious();
  using Sum = typename Format::Sum;
  constexpr int kFragmentInputs = kFragmentWords * Format::kPerWord;
  __shared__ RowScale scales[Format::kScaled ? kRowTiles * 16 : 1];
  const int32_t rows = RowCount(args.rows), first_row = static_cast<int32_t>(blockIdx.y) * kRowTiles * 16;
  if (first_row >= rows) return;
  auto* held = reinterpret_cast<uint4*>(DynamicShared());
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int32_t slice = warp % Divided::kSlices;
  const int32_t tile =
      static_cast<int32_t>(blockIdx.x) * Divided::kBlockTiles + warp / Divided::kSlices * Divided::kTiles;
  const int32_t chunks = CeilDiv(weights.inputs, kFragmentInputs);
  if (Format::kScaled) ScaleRows<kRowTiles>(args, weights.inputs, first_row, rows, scales);
  Sum sums[Divided::kTiles][kRowTiles][4] = {};
  for (int32_t chunk = 0; chunk < chunks; chunk += kHeldSteps / 2) {
    __syncthreads();
    HoldRows<Format, kRowTiles>(args, weights.inputs, first_row, rows, chunk * kFragmentInputs, scales, held);
    __syncthreads();
    Multiply<Divided, kRowTiles>(weights, held, chunk, chunks, tile, slice, sums);
  }
  AddSlices<Divided, kRowTiles>(reinterpret_cast<Sum*>(held), slice, sums);
  if (slice != 0) return;
#pragma unroll
  for (int n = 0; n < Divided::kTiles; ++n) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int32_t own = m * 16 + lane / 4 + r / 2 * 8, i = first_row + own;
        const int32_t output = (tile + n) * kFragmentOutputs + lane % 4 * 2 + r % 2;
        if (i >= rows || output >= weights.outputs) continue;
        const RowScale scale = Format::kScaled ? scales[own] : RowScale{};
        Finish(args, weights.outputs, i, output, Format::Result(weights, scale, output, sums[n][m][r]));
      }
    }
  }
}

template <typename Format, typename Divided, int kRowTiles>
void LaunchFew(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  const int tiles = CeilDiv(weights.outputs, kFragmentOutputs);
  Launch(device,
         {.grid_x = static_cast<unsigned>(CeilDiv(tiles, Divided::kBlockTiles)),
          .grid_y = static_cast<unsigned>(CeilDiv(args.rows.capacity, kRowTiles * 16)),
          .threads = kThreads,
          .shared_bytes = static_cast<size_t>(kHeldSteps) * kRowTiles * kWarp * sizeof(uint4)},
         LinearFewKernel<Format, Divided, kRowTiles>, weights, args);
}

template <typename Format, typename Divided>
void LinearDivided(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  if (args.rows.capacity <= 16) return LaunchFew<Format, Divided, 1>(device, weights, args);
  if (args.rows.capacity <= 32) return LaunchFew<Format, Divided, 2>(device, weights, args);
  LaunchFew<Format, Divided, 4>(device, weights, args);
}

template <typename Format>
void LinearFew(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  if (weights.outputs <= kFewOutputs) {
    LinearDivided<Format, FewOutputs>(device, weights, args);
  } else {
    LinearDivided<Format, ManyOutputs>(device, weights, args);
  }
}

}  // namespace

void LinearFewBF16(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  LinearFew<BF16>(device, weights, args);
}

void LinearFewInt8(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  LinearFew<Int8>(device, weights, args);
}

}  // namespace salient::cuda

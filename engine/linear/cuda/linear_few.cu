// Linear layers on tensor cores for a step's few rows, every weight read once a block of rows: bf16 products with fp32
// sums, or int8 products with integer sums.
//
// Weights lie in memory as the lanes want them (kernels.h), so that a warp streams them in whole words of 512 bytes
// straight into registers. The rows are rounded to bf16, or quantised, and put into shared memory in the same way, a
// part of the inputs at a time. For int8 every block finds its rows' largest values by itself: they are read twice,
// from the cache, and nothing has to be launched before.
//
// What is waited for. A step's layer is a chain: the kernel before, then the rows, then the weights, then the residual.
// The weights depend on nobody, so a warp asks for its first kAhead fragments before it waits for the kernel before it,
// and they arrive (from memory: 0.7 us and more) while the rows are brought into shared memory. Rows are read 8 (bf16)
// or 16 (int8) bytes at a time, 16 words of a thread on their way at once: 64 rows of 512 inputs are 128 KB and 4 trips
// to the second-level cache where single values took 16. Of the residual all that a lane adds to is read before the
// first result is written, two values at a time: as many loads as there are tiles, but one trip.
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
constexpr int kAhead = 4;                       // fragments that a warp asks for in advance, over its tiles
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

// The kCount inputs from x on, of which `left` are there; the others are zeros. `wide`: x is aligned to them.
template <int kCount>
__device__ void LoadInputs(const float* x, int32_t left, bool wide, float (&values)[kCount]) {
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

// Brings the block's rows, from input `from` on, into first operands: [step][row tile][lane].
template <typename Format, int kRowTiles>
__device__ void HoldRows(const LinearArgs& args, int32_t inputs, int32_t first_row, int32_t rows, int32_t from,
                         const RowScale* scales, uint4* held) {
  constexpr int kFragmentInputs = kFragmentWords * Format::kPerWord;
  const int32_t steps = min(kHeldSteps, CeilDiv(inputs - from, kFragmentInputs) * 2);
  const bool wide = inputs % Format::kPerWord == 0 &&
                    reinterpret_cast<uintptr_t>(args.input) % (Format::kPerWord * sizeof(float)) == 0;
#pragma unroll 4
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
      float values[Format::kPerWord];
      LoadInputs(args.input + static_cast<size_t>(first_row + r) * inputs + c, left, wide, values);
      parts[p] = Format::Word(values, scale);
    }
    held[at] = make_uint4(parts[0], parts[1], parts[2], parts[3]);
  }
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
    const uint4 low = held[(2 * own * kRowTiles + m) * kWarp + lane];
    const uint4 high = held[((2 * own + 1) * kRowTiles + m) * kWarp + lane];
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

// Where the results of a lane go that are next to each other, two outputs of a row: null where there are none.
struct Pair {
  float* to;
  bool both;

  __device__ Pair(const LinearArgs& args, int32_t outputs, int32_t rows, int32_t i, int32_t output)
      : to(nullptr), both(output + 1 < outputs) {
    if (i >= rows || output >= outputs) return;
    const int32_t row = args.scatter ? RowAt(args.rows, i) : i;
    to = args.output + static_cast<size_t>(row) * outputs + output;
  }
  __device__ bool Wide() const { return both && reinterpret_cast<uintptr_t>(to) % sizeof(float2) == 0; }
  __device__ float2 Load() const {
    if (to == nullptr) return {0, 0};
    if (Wide()) return *reinterpret_cast<const float2*>(to);
    return {to[0], both ? to[1] : 0.0f};
  }
  __device__ void Store(const float2& values) const {
    if (to == nullptr) return;
    if (Wide()) {
      *reinterpret_cast<float2*>(to) = values;
      return;
    }
    to[0] = values.x;
    if (both) to[1] = values.y;
  }
};

// The results of a warp's tile of outputs. All that they are added to is read before any of them is written.
template <typename Format, int kRowTiles, typename Sum>
__device__ void FinishTile(const WeightsInFragments& weights, const LinearArgs& args, int32_t rows, int32_t first_row,
                           int32_t tile, const RowScale* scales, const Sum (&sums)[kRowTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int32_t output = tile * kFragmentOutputs + lane % 4 * 2;
  float2 before[kRowTiles][2] = {};
  if (args.accumulate) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int32_t own = m * 16 + lane / 4 + half * 8;
        before[m][half] = Pair(args, weights.outputs, rows, first_row + own, output).Load();
      }
    }
  }
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int32_t own = m * 16 + lane / 4 + half * 8;
      const Pair pair(args, weights.outputs, rows, first_row + own, output);
      if (pair.to == nullptr) continue;
      const RowScale scale = Format::kScaled ? scales[own] : RowScale{};
      float2 result = {Activate(Format::Result(weights, scale, output, sums[m][2 * half]), args.activation), 0};
      if (pair.both) {
        result.y = Activate(Format::Result(weights, scale, output + 1, sums[m][2 * half + 1]), args.activation);
      }
      if (args.accumulate) result = {before[m][half].x + result.x, before[m][half].y + result.y};
      pair.Store(result);
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
  using Sum = typename Format::Sum;
  constexpr int kFragmentInputs = kFragmentWords * Format::kPerWord;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int32_t slice = warp % Divided::kSlices;
  const int32_t tile =
      static_cast<int32_t>(blockIdx.x) * Divided::kBlockTiles + warp / Divided::kSlices * Divided::kTiles;
  const int32_t chunks = CeilDiv(weights.inputs, kFragmentInputs);
  WarpWeights<Divided> of_warp(weights, chunks, tile);
  of_warp.LoadAhead(slice, min(kHeldSteps / 2, chunks));
  WaitForPrevious();
  __shared__ RowScale scales[Format::kScaled ? kRowTiles * 16 : 1];
  const int32_t rows = RowCount(args.rows), first_row = static_cast<int32_t>(blockIdx.y) * kRowTiles * 16;
  if (first_row >= rows) return;
  auto* held = reinterpret_cast<uint4*>(DynamicShared());
  if (Format::kScaled) ScaleRows<kRowTiles>(args, weights.inputs, first_row, rows, scales);
  Sum sums[Divided::kTiles][kRowTiles][4] = {};
  for (int32_t chunk = 0; chunk < chunks; chunk += kHeldSteps / 2) {
    const int32_t last = min(chunk + kHeldSteps / 2, chunks);
    if (chunk > 0) of_warp.LoadAhead(chunk + slice, last);
    __syncthreads();
    HoldRows<Format, kRowTiles>(args, weights.inputs, first_row, rows, chunk * kFragmentInputs, scales, held);
    __syncthreads();
    Multiply<Divided, kRowTiles>(of_warp, held, chunk, last, slice, sums);
  }
  AddSlices<Divided, kRowTiles>(reinterpret_cast<Sum*>(held), slice, sums);
  if (slice != 0) return;
#pragma unroll
  for (int n = 0; n < Divided::kTiles; ++n) {
    FinishTile<Format, kRowTiles>(weights, args, rows, first_row, tile + n, scales, sums[n]);
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

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
// and they arrive (from memory: 0.7 us and more) while the rows are brought into shared memory.
//
// Layers of few outputs in bf16 (StreamRowsKernel): rows go to shared memory by cp.async, 256 inputs at a time in a
// ring, and are rounded when a warp reads its operands; weights follow four fragments ahead; the residual is asked for
// before the first product. Blocks are small, 16 or 32 rows by 16 outputs: with 64 rows of 512 inputs and 512 outputs
// there are 128 blocks that read 32 KB of rows and 16 KB of weights each, all from the second-level cache (6 MB, 1.2 us
// at 5.5 TB/s), where 32 blocks of 64 rows read 144 KB each, 2.2 us at the 64 bytes a cycle of a multiprocessor, and
// 100 multiprocessors did nothing. A feed-forward block's hidden states, most of what such layers read, come in bf16
// from the kernel that makes them, rounded there as here: of 64 rows of 2,048 the blocks read 8.4 MB instead of 16.8 MB,
// 1.5 us less, and an operand is one ldmatrix instead of four loads and four conversions. Attention's output stays in
// fp32: 0.4 us of 512 inputs, for a second form of every kernel of attention.
//
// Other layers (the vocabulary, int8): rows are read 8 (bf16) or 16 (int8) bytes at a time, 16 words of a thread on
// their way at once: 64 rows of 512 inputs are 128 KB and 4 trips to the second-level cache where single values took
// 16. Of the residual all that a lane adds to is read before the first result is written, two values at a time: as many
// loads as there are tiles, but one trip.
//
// A block has 8 warps. Where a layer has few outputs, four warps divide the inputs among them (every fourth 16 words)
// so that more blocks, and more loads, are under way; their sums are added in a fixed order. How a layer is divided
// follows from its own size, and a row's sums are its own row of the products: so its bits do not depend on the rows
// beside it.

#include "engine/core/cuda/load.h"
#include "engine/linear/cuda/epilogue.h"
#include "engine/linear/cuda/few.h"
#include "engine/linear/cuda/kernels.h"

namespace salient::cuda {
namespace {

using namespace few;  // NOLINT: the kernel's own parts

// The scales of the block's rows.
template <int kRowTiles>
__device__ void ScaleRows(const LinearArgs& args, int32_t inputs, int32_t first_row, int32_t rows, RowScale* scales) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int r = warp; r < kRowTiles * 16; r += kWarps) {
    int32_t bits = 0;
    if (first_row + r < rows) {
      const float* x = args.input + static_cast<size_t>(first_row + r) * inputs;
#pragma unroll 4
      for (int32_t c = lane; c < inputs; c += kWarp) bits = max(bits, MagnitudeBits(x[c]));
    }
    bits = LargestBits(bits);
    if (lane == 0) scales[r] = ScaleOf(bits);
  }
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
      LoadFloats(args.input + static_cast<size_t>(first_row + r) * inputs + c, left, wide, values);
      parts[p] = Format::Word(values, scale);
    }
    held[HeldAt<kRowTiles>(step, tile, lane)] = make_uint4(parts[0], parts[1], parts[2], parts[3]);
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

// StreamRowsKernel: a ring of stages of so many inputs of each row, in fp32 or bf16. Rows are 8 values longer than
// that, so that the eight rows that lanes read together lie in different banks.
constexpr int kStageInputs = 256;
constexpr int kStageStride = kStageInputs + 8;
constexpr int kChunkInputs = kFragmentWords * BF16::kPerWord;
constexpr int kStageChunks = kStageInputs / kChunkInputs;
constexpr int kOfSlice = kStageChunks / FewOutputs::kSlices;  // chunks of a stage that a warp multiplies
template <int kRowTiles>
inline constexpr int kSlots = kRowTiles == 1 ? 4 : 2;
static_assert(kAhead == 2 * kOfSlice);

template <int kRowTiles, typename T>
__device__ void LoadStage(const T* input, int32_t inputs, int32_t first_row, int32_t rows, int32_t stage, T* slot) {
  constexpr int kEach = 16 / sizeof(T), kWords = kStageInputs / kEach;
  if (stage * kStageInputs >= inputs) return;
#pragma unroll
  for (auto at = static_cast<int32_t>(threadIdx.x); at < kRowTiles * 16 * kWords; at += kThreads) {
    const int32_t r = at / kWords, c = at % kWords * kEach, column = stage * kStageInputs + c;
    const bool there = first_row + r < rows && column < inputs;
    const T* from = input + (there ? static_cast<size_t>(first_row + r) * inputs + column : 0);
    CopyAsync16(slot + r * kStageStride + c, from, there);
  }
}

// 16 rows by 16 inputs from the given ones on, as a first operand.
__device__ inline void LoadOperand(const float* from, uint32_t (&operand)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    const float2 pair =
        *reinterpret_cast<const float2*>(from + (lane / 4 + p % 2 * 8) * kStageStride + p / 2 * 8 + lane % 4 * 2);
    operand[p] = PackBF16(pair.x, pair.y);
  }
}
__device__ inline void LoadOperand(const uint16_t* from, uint32_t (&operand)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  LoadMatrices(operand, from + lane % 16 * kStageStride + lane / 16 * 8);
}

// Block (b, r): outputs 16 b .. + 15 of the rows from 16 kRowTiles r on. A row's inputs are a multiple of 16 bytes.
template <int kRowTiles, typename T>
__global__ void __launch_bounds__(kThreads, 2) StreamRowsKernel(WeightsInFragments weights, LinearArgs args) {
  constexpr int kTiles = kWarps / FewOutputs::kSlices, kOwn = kRowTiles * 4;
  constexpr int kSlotSize = kRowTiles * 16 * kStageStride;
  const auto* input = reinterpret_cast<const T*>(args.input);
  static_assert(2 * kRowTiles <= kWarps);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int32_t slice = warp % FewOutputs::kSlices, first_tile = static_cast<int32_t>(blockIdx.x) * kTiles;
  const int32_t chunks = CeilDiv(weights.inputs, kChunkInputs), stages = CeilDiv(weights.inputs, kStageInputs);
  const int32_t first_row = static_cast<int32_t>(blockIdx.y) * kRowTiles * 16;
  WarpWeights<FewOutputs> of_warp(weights, chunks, first_tile + warp / FewOutputs::kSlices);
  if (first_row < kLikelyRows) of_warp.LoadAhead(slice, chunks);
  WaitForPrevious();
  const int32_t rows = RowCount(args.rows);
  if (first_row >= rows) return;
  if (first_row >= kLikelyRows) of_warp.LoadAhead(slice, chunks);
  auto* ring = reinterpret_cast<T*>(DynamicShared());
#pragma unroll
  for (int stage = 0; stage + 1 < kSlots<kRowTiles>; ++stage) {
    LoadStage<kRowTiles>(input, weights.inputs, first_row, rows, stage, ring + stage * kSlotSize);
    CommitCopies();
  }
  // What the warp finishes: eight rows of a row tile.
  const bool finishes = warp < 2 * kRowTiles;
  const int32_t i = finishes ? first_row + warp * 8 + lane / 4 : rows;
  float2 before[kTiles] = {};
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const int32_t output = (first_tile + n) * kFragmentOutputs + lane % 4 * 2;
    if (args.accumulate) before[n] = Pair(args, weights.outputs, rows, i, output).Load();
  }
  float sums[kRowTiles][4] = {};
  for (int32_t first = 0; first < stages; first += 2) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int32_t stage = first + half, next = stage + kSlots<kRowTiles> - 1;
      if (stage >= stages) break;
      WaitForCopies<kSlots<kRowTiles> - 2>();
      __syncthreads();  // the stage is there for all, and the one before is no longer read
      LoadStage<kRowTiles>(input, weights.inputs, first_row, rows, next, ring + next % kSlots<kRowTiles> * kSlotSize);
      CommitCopies();
      const T* slot = ring + stage % kSlots<kRowTiles> * kSlotSize;
#pragma unroll
      for (int own = 0; own < kOfSlice; ++own) {
        const int32_t of_stage = slice + own * FewOutputs::kSlices, chunk = stage * kStageChunks + of_stage;
        if (chunk >= chunks) continue;
        uint4& ahead = of_warp.ahead[half * kOfSlice + own][0];
        const uint4 words = ahead;
        const int32_t later = chunk + kAhead * FewOutputs::kSlices;
        if (later < chunks) ahead = of_warp.fragments[0][static_cast<size_t>(later) * kWarp];
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          const T* from = slot + m * 16 * kStageStride + of_stage * kChunkInputs;
          uint32_t low[4], high[4];
          LoadOperand(from, low);
          LoadOperand(from + kChunkInputs / 2, high);
          MultiplyAdd(sums[m], low, {words.x, words.y});
          MultiplyAdd(sums[m], high, {words.z, words.w});
        }
      }
    }
  }
  __syncthreads();  // the rows are no longer read
  auto* scratch = reinterpret_cast<float*>(ring);
#pragma unroll
  for (int s = 0; s < kOwn; ++s) scratch[(warp * kOwn + s) * kWarp + lane] = sums[s / 4][s % 4];
  __syncthreads();
  if (i >= rows) return;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const int32_t output = (first_tile + n) * kFragmentOutputs + lane % 4 * 2;
    const Pair pair(args, weights.outputs, rows, i, output);
    if (pair.to == nullptr) continue;
    float result[2] = {};
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float* own = scratch + (n * FewOutputs::kSlices * kOwn + warp * 2 + c) * kWarp + lane;
      const float sum = SumOfSlices<FewOutputs>(own, kOwn * kWarp);
      if (c == 0 || pair.both) result[c] = Activate(BF16::Result(weights, {}, output + c, sum), args.activation);
    }
    if (args.accumulate) {
      pair.Store({before[n].x + result[0], before[n].y + result[1]});
    } else {
      pair.Store({result[0], result[1]});
    }
  }
}

template <int kRowTiles, typename T>
void LaunchStream(Device& device, const WeightsInFragments& weights, const LinearArgs& args, int blocks) {
  Launch(device,
         {.grid_x = static_cast<unsigned>(blocks),
          .grid_y = static_cast<unsigned>(CeilDiv(args.rows.capacity, kRowTiles * 16)),
          .threads = kThreads,
          .shared_bytes = size_t{kSlots<kRowTiles>} * kRowTiles * 16 * kStageStride * sizeof(T)},
         StreamRowsKernel<kRowTiles, T>, weights, args);
}

template <typename T>
void StreamRows(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  const int blocks = CeilDiv(CeilDiv(weights.outputs, kFragmentOutputs), kWarps / FewOutputs::kSlices);
  if (RowTilesFor(device, blocks, args.rows.capacity) == 1) return LaunchStream<1, T>(device, weights, args, blocks);
  LaunchStream<2, T>(device, weights, args, blocks);
}

template <typename Format, typename Divided, int kRowTiles>
void LaunchFew(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  const int tiles = CeilDiv(weights.outputs, kFragmentOutputs);
  Launch(device,
         {.grid_x = static_cast<unsigned>(CeilDiv(tiles, Divided::kBlockTiles)),
          .grid_y = static_cast<unsigned>(CeilDiv(args.rows.capacity, kRowTiles * 16)),
          .threads = kThreads,
          .shared_bytes = HeldBytes<kRowTiles>(kHeldSteps)},
         LinearFewKernel<Format, Divided, kRowTiles>, weights, args);
}

template <typename Format>
void LinearFew(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  const int32_t capacity = args.rows.capacity;
  if (weights.outputs <= kFewOutputs) {
    const int blocks = CeilDiv(CeilDiv(weights.outputs, kFragmentOutputs), FewOutputs::kBlockTiles);
    if (RowTilesFor(device, blocks, capacity) == 1) return LaunchFew<Format, FewOutputs, 1>(device, weights, args);
    return LaunchFew<Format, FewOutputs, 2>(device, weights, args);
  }
  if (capacity <= 16) return LaunchFew<Format, ManyOutputs, 1>(device, weights, args);
  if (capacity <= 32) return LaunchFew<Format, ManyOutputs, 2>(device, weights, args);
  LaunchFew<Format, ManyOutputs, 4>(device, weights, args);
}

}  // namespace

void LinearFewBF16(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  if (weights.outputs <= kFewOutputs && weights.inputs % 4 == 0) return StreamRows<float>(device, weights, args);
  LinearFew<BF16>(device, weights, args);
}

bool LinearFewTakesRounded(const WeightsInFragments& weights) {
  return weights.fragments != nullptr && weights.outputs <= kFewOutputs && weights.inputs % 8 == 0;
}

void LinearFewRounded(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  StreamRows<uint16_t>(device, weights, args);
}

void LinearFewInt8(Device& device, const WeightsInFragments& weights, const LinearArgs& args) {
  LinearFew<Int8>(device, weights, args);
}

}  // namespace salient::cuda

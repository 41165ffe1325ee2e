// Linear layers on tensor cores for a step's few rows: bf16 products, fp32 sums, every weight read once a block of
// rows.
//
// Weights lie in memory as the lanes want them (kernels.h), so that a warp streams them in whole words of 512 bytes
// straight into registers. The rows are rounded to bf16 and put into shared memory in the same way, 512 inputs at a
// time.
//
// A block has 8 warps. Where a layer has few outputs, four warps divide the inputs among them (every fourth 32) so that
// more blocks, and more loads, are under way; their sums are added in a fixed order. How a layer is divided follows
// from its own size, and a row's sums are its own row of the products: so its bits do not depend on the rows beside it.

#include "engine/backend/cuda/tensor_core.h"
#include "engine/linear/cuda/epilogue.h"
#include "engine/linear/cuda/kernels.h"

namespace salient::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kStepInputs = 16;
constexpr int kHeldInputs = 512;  // of each row in shared memory at a time
constexpr int32_t kFewOutputs = 4096;

// How a layer is divided: kSlices warps share outputs, each with every kSlices-th part of the inputs; a warp has kTiles
// times 8 outputs.
template <int kSlicesOfInputs, int kTilesOfOutputs>
struct Division {
  static constexpr int kSlices = kSlicesOfInputs, kTiles = kTilesOfOutputs;
  static constexpr int kBlockTiles = kWarps / kSlices * kTiles;
};
using FewOutputs = Division<4, 1>;
using ManyOutputs = Division<1, 2>;

// Rounds inputs [from, from + kHeldInputs) of the block's rows into first operands: [input step][row tile][lane].
template <int kRowTiles>
__device__ void HoldRows(const LinearArgs& args, int32_t inputs, int32_t first_row, int32_t rows, int32_t from,
                         uint4* held) {
  const int32_t steps = min(kHeldInputs, inputs - from + kFragmentInputs - 1) / kFragmentInputs * 2;
  for (auto at = static_cast<int32_t>(threadIdx.x); at < steps * kRowTiles * kWarp; at += kThreads) {
    const int32_t lane = at % kWarp, tile = at / kWarp % kRowTiles, step = at / kWarp / kRowTiles;
    const int32_t row = first_row + tile * 16 + lane / 4, column = from + step * kStepInputs + lane % 4 * 2;
    uint32_t parts[4];
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const int32_t r = row + p % 2 * 8, c = column + p / 2 * 8;
      const float* x = args.input + static_cast<size_t>(r) * inputs + c;
      const float low = r < rows && c < inputs ? x[0] : 0.0f;
      const float high = r < rows && c + 1 < inputs ? x[1] : 0.0f;
      parts[p] = PackBF16(low, high);
    }
    held[at] = make_uint4(parts[0], parts[1], parts[2], parts[3]);
  }
}

// Adds the products of the inputs that are held and belong to this warp's slice.
template <typename Divided, int kRowTiles>
__device__ void Multiply(const WeightsBF16& weights, const uint4* held, int32_t from, int32_t chunks, int32_t tile,
                         int32_t slice, float (&sums)[Divided::kTiles][kRowTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int32_t held_chunks = min(kHeldInputs / kFragmentInputs, chunks - from / kFragmentInputs);
  const int32_t tiles = CeilDiv(weights.outputs, kFragmentOutputs);
  const uint4* fragments[Divided::kTiles];
#pragma unroll
  for (int n = 0; n < Divided::kTiles; ++n) {
    const int32_t own = min(tile + n, tiles - 1);  // a tile past the end is worked out and thrown away
    fragments[n] = weights.fragments + (static_cast<size_t>(own) * chunks + from / kFragmentInputs) * kWarp + lane;
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
template <typename Divided, int kRowTiles>
__device__ void AddSlices(float* scratch, int32_t slice, float (&sums)[Divided::kTiles][kRowTiles][4]) {
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

template <typename Divided, int kRowTiles>
__global__ void __launch_bounds__(kThreads, 2) LinearBF16Kernel(WeightsBF16 weights, LinearArgs args) {
  WaitForPrevious();
  const int32_t rows = RowCount(args.rows), first_row = static_cast<int32_t>(blockIdx.y) * kRowTiles * 16;
  if (first_row >= rows) return;
  auto* held = reinterpret_cast<uint4*>(DynamicShared());
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int32_t slice = warp % Divided::kSlices;
  const int32_t tile =
      static_cast<int32_t>(blockIdx.x) * Divided::kBlockTiles + warp / Divided::kSlices * Divided::kTiles;
  const int32_t chunks = CeilDiv(weights.inputs, kFragmentInputs);
  float sums[Divided::kTiles][kRowTiles][4] = {};
  for (int32_t from = 0; from < weights.inputs; from += kHeldInputs) {
    __syncthreads();
    HoldRows<kRowTiles>(args, weights.inputs, first_row, rows, from, held);
    __syncthreads();
    Multiply<Divided, kRowTiles>(weights, held, from, chunks, tile, slice, sums);
  }
  AddSlices<Divided, kRowTiles>(reinterpret_cast<float*>(held), slice, sums);
  if (slice != 0) return;
#pragma unroll
  for (int n = 0; n < Divided::kTiles; ++n) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int32_t i = first_row + m * 16 + lane / 4 + r / 2 * 8;
        const int32_t output = (tile + n) * kFragmentOutputs + lane % 4 * 2 + r % 2;
        if (i >= rows || output >= weights.outputs) continue;
        Finish(args, weights.outputs, i, output, sums[n][m][r] + weights.bias[output]);
      }
    }
  }
}

template <typename Divided, int kRowTiles>
void LaunchBF16(Device& device, const WeightsBF16& weights, const LinearArgs& args) {
  const int tiles = CeilDiv(weights.outputs, kFragmentOutputs);
  Launch(device,
         {.grid_x = static_cast<unsigned>(CeilDiv(tiles, Divided::kBlockTiles)),
          .grid_y = static_cast<unsigned>(CeilDiv(args.rows.capacity, kRowTiles * 16)),
          .threads = kThreads,
          .shared_bytes = static_cast<size_t>(kHeldInputs / kStepInputs) * kRowTiles * kWarp * sizeof(uint4)},
         LinearBF16Kernel<Divided, kRowTiles>, weights, args);
}

template <typename Divided>
void LinearDivided(Device& device, const WeightsBF16& weights, const LinearArgs& args) {
  if (args.rows.capacity <= 16) return LaunchBF16<Divided, 1>(device, weights, args);
  if (args.rows.capacity <= 32) return LaunchBF16<Divided, 2>(device, weights, args);
  LaunchBF16<Divided, 4>(device, weights, args);
}

}  // namespace

void LinearBF16(Device& device, const WeightsBF16& weights, const LinearArgs& args) {
  if (weights.outputs <= kFewOutputs) {
    LinearDivided<FewOutputs>(device, weights, args);
  } else {
    LinearDivided<ManyOutputs>(device, weights, args);
  }
}

}  // namespace salient::cuda

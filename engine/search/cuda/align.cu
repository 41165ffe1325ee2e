// The source token that a row attends to most: one block a row, whose threads each keep some of the piece's tokens.

#include "engine/core/cuda/language.h"
#include "engine/core/cuda/pages.h"
#include "engine/search/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kEach = kMostAligned / kThreads;

__device__ float FloatOf(float x) { return x; }
__device__ float FloatOf(uint16_t x) { return FloatOfBF16(x); }
__device__ float FloatOf(int8_t x) { return static_cast<float>(x); }

template <typename T>
__device__ float Score(const PagesView& pages, const int32_t* table, int32_t position, int32_t head, int32_t width,
                       const float* query) {
  const int32_t first = head * width;
  const T* key = pages.Key<T>(table, position) + first;
  float sum = 0;
  for (int32_t c = 0; c < width; ++c) sum += query[first + c] * FloatOf(key[c]);
  return sizeof(T) == 1 ? sum * pages.Scales(table, position)[head] : sum;
}

// Every thread gets the block's. `scratch` [kWarps] may be used again after the next barrier.
__device__ float BlockMax(float value, float* scratch) {
  value = WarpMax(value);
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = value;
  __syncthreads();
  float largest = scratch[0];
  for (int warp = 1; warp < kWarps; ++warp) largest = fmaxf(largest, scratch[warp]);
  __syncthreads();
  return largest;
}
__device__ float BlockSum(float value, float* scratch) {
  value = WarpSum(value);
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += scratch[warp];
  __syncthreads();
  return sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) AlignKernel(AlignArgs args, PagesView pages) {
  WaitForPrevious();
  __shared__ float scratch[kWarps];
  const auto i = static_cast<int32_t>(blockIdx.x), thread = static_cast<int32_t>(threadIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i);
  if (!args.scripts[row]->aligns) return;
  const ScriptPiece piece = args.scripts[row]->pieces[args.segments[row]];
  const int32_t count = min(piece.source_length, kMostAligned);
  const float* query = args.queries + static_cast<size_t>(i) * pages.width;
  const int32_t head_width = pages.width / args.heads;  // the store knows of heads only where its keys are int8
  const float scale = 1.0f / sqrtf(static_cast<float>(head_width));
  float mean[kEach], weights[kEach];
  for (float& one : mean) one = 0;
  for (int32_t head = 0; head < args.heads; ++head) {
    float largest = -INFINITY, total = 0;
    for (int32_t k = 0, j = thread; j < count; ++k, j += kThreads) {
      weights[k] = scale * Score<T>(pages, args.views[row].pages, piece.source_start + j, head, head_width, query);
      largest = fmaxf(largest, weights[k]);
    }
    largest = BlockMax(largest, scratch);
    for (int32_t k = 0, j = thread; j < count; ++k, j += kThreads) total += weights[k] = expf(weights[k] - largest);
    total = BlockSum(total, scratch);
    for (int32_t k = 0, j = thread; j < count; ++k, j += kThreads) mean[k] += weights[k] / total;
  }
  // Where no mean is a number the first token is taken, as on the CPU.
  float best = -1;
  int32_t at = 0;
  for (int32_t k = 0, j = thread; j < count; ++k, j += kThreads) {
    if (!(mean[k] > best)) continue;
    best = mean[k];
    at = j;
  }
  const float largest = BlockMax(best, scratch);
  // Positions are small enough to be exact as floats.
  const float first = -BlockMax(best == largest ? -static_cast<float>(at) : -INFINITY, scratch);
  if (thread == 0) args.aligned[row] = piece.source_start + static_cast<int32_t>(first);
}

template <typename T>
void LaunchAlign(Device& device, const AlignArgs& args) {
  Launch(device, {.grid_x = static_cast<unsigned>(args.rows.capacity), .threads = kThreads}, AlignKernel<T>, args,
         PagesView(args.store, args.layer));
}

}  // namespace

void Align(Device& device, const AlignArgs& args) {
  switch (args.store.layout.type) {
    case ElementType::kF32:
      return LaunchAlign<float>(device, args);
    case ElementType::kBF16:
      return LaunchAlign<uint16_t>(device, args);
    case ElementType::kInt8:
      return LaunchAlign<int8_t>(device, args);
  }
}

}  // namespace salient::cuda

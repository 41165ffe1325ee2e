// Layer norm, embedding, rotation and moves of rows.

#include "engine/core/cuda/language.h"
#include "engine/norm/cuda/norm_row.h"
#include "engine/norm/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kRowsAtOnce = 4;  // rows of a block, a warp each
constexpr int kThreads = 128;

// One row by one warp.
template <int kGroups>
__device__ void NormHeld(const float* x, const float* weight, const float* bias, float epsilon, int width, float* y) {
  HeldRow<kGroups> row;
  row.Load(x, width);
  row.Norm(weight, bias, epsilon, width);
  row.Store(y, width);
}

// The same for rows that registers do not hold: read three times, from the cache.
__device__ void NormWide(const float* x, const float* weight, const float* bias, float epsilon, int width, float* y) {
  const int lane = threadIdx.x % kWarp;
  float sum = 0, squares = 0;
  for (int c = lane; c < width; c += kWarp) sum += x[c];
  const float mean = WarpSum(sum) / static_cast<float>(width);
  for (int c = lane; c < width; c += kWarp) squares += (x[c] - mean) * (x[c] - mean);
  const float inverse = 1.0f / sqrtf(WarpSum(squares) / static_cast<float>(width) + epsilon);
  for (int c = lane; c < width; c += kWarp) y[c] = (x[c] - mean) * inverse * weight[c] + bias[c];
}

__global__ void __launch_bounds__(kThreads) LayerNormKernel(LayerNormArgs args) {
  WaitForPrevious();
  const int i = static_cast<int>(blockIdx.x * kRowsAtOnce + threadIdx.x / kWarp);
  if (i >= RowCount(args.rows)) return;
  const int row = RowAt(args.rows, i);
  const float* x = args.input + static_cast<size_t>(row) * args.width;
  float* y = args.output + static_cast<size_t>(args.scatter ? row : i) * args.width;
  const size_t set = static_cast<size_t>(args.set == nullptr ? 0 : args.set[row]) * args.width;
  if (args.width <= HeldRow<4>::kWidest) {
    NormHeld<4>(x, args.weight + set, args.bias + set, args.epsilon, args.width, y);
  } else if (args.width <= HeldRow<8>::kWidest) {
    NormHeld<8>(x, args.weight + set, args.bias + set, args.epsilon, args.width, y);
  } else {
    NormWide(x, args.weight + set, args.bias + set, args.epsilon, args.width, y);
  }
}

__global__ void __launch_bounds__(kThreads) EmbedKernel(EmbedArgs args, const double* turns) {
  WaitForPrevious();
  const int i = static_cast<int>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int row = RowAt(args.rows, i), half = args.width / 2;
  const float* x = args.table + static_cast<size_t>(args.tokens[row]) * args.width;
  float* y = args.output + static_cast<size_t>(row) * args.width;
  for (int c = static_cast<int>(threadIdx.x); c < args.width; c += kThreads) {
    float value = x[c] * args.scale;
    if (args.offsets != nullptr) {
      float sine, cosine;
      Turn(args.offsets[row] + args.first_position, turns[c % half], &sine, &cosine);
      value += c < half ? sine : cosine;
    }
    y[c] = value;
  }
}

__global__ void __launch_bounds__(kThreads) RotateKernel(RotateArgs args, const double* turns) {
  WaitForPrevious();
  const int i = static_cast<int>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int half = args.head_width / 2, position = args.positions[RowAt(args.rows, i)];
  float* values = args.values + static_cast<size_t>(i) * args.stride;
  for (int pair = static_cast<int>(threadIdx.x); pair < args.heads * half; pair += kThreads) {
    const int c = pair % half;
    float* x = values + pair / half * args.head_width + c;
    RotatePair(position, turns[c], x, x + half);
  }
}

__global__ void __launch_bounds__(kThreads) GatherRowsKernel(GatherRowsArgs args) {
  WaitForPrevious();
  const int i = static_cast<int>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const float* from = args.input + static_cast<size_t>(RowAt(args.rows, i)) * args.width;
  float* to = args.output + static_cast<size_t>(i) * args.width;
  for (int c = static_cast<int>(threadIdx.x); c < args.width; c += kThreads) to[c] = from[c];
}

// A thread sums a column, in the order of the rows.
__global__ void __launch_bounds__(kThreads) MeanRowsKernel(MeanRowsArgs args) {
  WaitForPrevious();
  const int c = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (c >= args.width) return;
  double sum = 0;
  for (int i = 0; i < args.rows; ++i) sum += args.input[static_cast<size_t>(i) * args.width + c];
  args.output[c] = static_cast<float>(sum / args.rows);
}

LaunchShape RowBlocks(const Rows& rows) {
  return {.grid_x = static_cast<unsigned>(rows.capacity), .threads = kThreads};
}

}  // namespace

void LayerNorm(Device& device, const LayerNormArgs& args) {
  const auto blocks = static_cast<unsigned>(CeilDiv(args.rows.capacity, kRowsAtOnce));
  Launch(device, {.grid_x = blocks, .threads = kThreads}, LayerNormKernel, args);
}

void Embed(Device& device, const EmbedArgs& args, const double* turns) {
  Launch(device, RowBlocks(args.rows), EmbedKernel, args, turns);
}

void Rotate(Device& device, const RotateArgs& args, const double* turns) {
  Launch(device, RowBlocks(args.rows), RotateKernel, args, turns);
}

void GatherRows(Device& device, const GatherRowsArgs& args) {
  Launch(device, RowBlocks(args.rows), GatherRowsKernel, args);
}

void MeanRows(Device& device, const MeanRowsArgs& args) {
  const auto blocks = static_cast<unsigned>(CeilDiv(args.width, kThreads));
  Launch(device, {.grid_x = blocks, .threads = kThreads}, MeanRowsKernel, args);
}

}  // namespace salient::cuda

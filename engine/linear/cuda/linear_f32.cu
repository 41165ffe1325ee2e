// Linear layers in fp32: the plain kernel, for comparing and for layers of a few outputs. A thread has one output of
// four rows and sums over the inputs in their order, whatever rows there are. Rows are along x, because a grid has at
// most 65,535 blocks along y.

#include "engine/linear/cuda/epilogue.h"
#include "engine/linear/cuda/kernels.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = 4;

__global__ void __launch_bounds__(kThreads) LinearF32Kernel(WeightsF32 weights, LinearArgs args) {
  WaitForPrevious();
  const auto n = static_cast<int32_t>(blockIdx.y * kThreads + threadIdx.x);
  const int32_t first = static_cast<int32_t>(blockIdx.x) * kRows, rows = RowCount(args.rows);
  if (first >= rows || n >= weights.outputs) return;
  const float* x[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) x[r] = args.input + static_cast<size_t>(min(first + r, rows - 1)) * weights.inputs;
  float sums[kRows] = {};
  for (int32_t k = 0; k < weights.inputs; ++k) {
    const float w = weights.weight[static_cast<size_t>(k) * weights.outputs + n];
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] += x[r][k] * w;
  }
  const float bias = weights.bias[n];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (first + r < rows) Finish(args, weights.outputs, first + r, n, sums[r] + bias);
  }
}

}  // namespace

void LinearF32(Device& device, const WeightsF32& weights, const LinearArgs& args) {
  Launch(device,
         {.grid_x = static_cast<unsigned>(CeilDiv(args.rows.capacity, kRows)),
          .grid_y = static_cast<unsigned>(CeilDiv(weights.outputs, kThreads)),
          .threads = kThreads},
         LinearF32Kernel, weights, args);
}

}  // namespace salient::cuda

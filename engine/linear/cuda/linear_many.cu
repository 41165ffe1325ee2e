// A linear layer of many rows: the rows rounded to bf16, a library's product (gemm.h), and what the library cannot
// fuse.

#include <utility>

#include "engine/core/cuda/tensor_core.h"
#include "engine/linear/cuda/epilogue.h"
#include "engine/linear/cuda/kernels.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 8;  // values of a thread: 16 bytes in bf16

__global__ void __launch_bounds__(kThreads) RoundKernel(const float* values, int64_t size, uint16_t* rounded) {
  WaitForPrevious();
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kEach;
  if (at >= size) return;
  const float4 low = *reinterpret_cast<const float4*>(values + at);
  const float4 high = *reinterpret_cast<const float4*>(values + at + 4);
  *reinterpret_cast<uint4*>(rounded + at) =
      make_uint4(PackBF16(low.x, low.y), PackBF16(low.z, low.w), PackBF16(high.x, high.y), PackBF16(high.z, high.w));
}

__global__ void __launch_bounds__(kThreads) ActivateKernel(float* values, int64_t size, Activation activation) {
  WaitForPrevious();
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * 4;
  if (at >= size) return;
  auto* word = reinterpret_cast<float4*>(values + at);
  const float4 x = *word;
  *word = make_float4(Activate(x.x, activation), Activate(x.y, activation), Activate(x.z, activation),
                      Activate(x.w, activation));
}

unsigned Blocks(int64_t size, int each) { return static_cast<unsigned>(CeilDiv(size, int64_t{kThreads} * each)); }

}  // namespace

void LinearMany(Device& device, GemmAlgorithm& gemm, const WeightsInRows& weights, const LinearArgs& args,
                uint16_t* rounded, std::byte* workspace) {
  const int32_t rows = args.rows.capacity;
  const int64_t inputs = static_cast<int64_t>(rows) * weights.inputs;
  const int64_t outputs = static_cast<int64_t>(rows) * weights.outputs;
  Launch(device, {.grid_x = Blocks(inputs, kEach), .threads = kThreads}, RoundKernel, args.input, inputs, rounded);
  const GemmCall call = {.rows = rows,
                         .x = rounded,
                         .weight = weights.weight,
                         .bias = weights.bias,
                         .y = args.output,
                         .accumulate = args.accumulate,
                         .workspace = workspace,
                         .multiprocessors = device.leaves_room() ? device.multiprocessors_to_fill() : 0};
  if (absl::Status status = gemm.Run(device, call); !status.ok()) return device.Fail(std::move(status));
  // cuBLASLt's gelu is the approximation by tanh; models are trained with erf.
  if (args.activation == Activation::kNone || args.activation == Activation::kRelu) return;
  Launch(device, {.grid_x = Blocks(outputs, 4), .threads = kThreads}, ActivateKernel, args.output, outputs,
         args.activation);
}

}  // namespace salient::cuda

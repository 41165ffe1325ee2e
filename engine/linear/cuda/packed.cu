#include <algorithm>
#include <vector>

#include "engine/attention/bf16.h"
#include "engine/linear/cuda/packed.h"

namespace salient::cuda {
namespace {

// A weight in bf16, zero outside the matrix.
uint32_t Rounded(const LinearWeights& weights, int32_t n, int32_t k) {
  if (n >= weights.outputs || k >= weights.inputs) return 0;
  return FloatToBF16(weights.weight[static_cast<size_t>(n) * weights.inputs + k]);
}

uint32_t Pair(const LinearWeights& weights, int32_t n, int32_t k) {
  return Rounded(weights, n, k) | Rounded(weights, n, k + 1) << 16;
}

}  // namespace

CudaLinear::CudaLinear(const LinearWeights& weights, ComputeType type, DeviceMemory& memory)
    : PackedLinear(weights.inputs, weights.outputs), type_(type), bias_(memory, weights.outputs) {
  if (weights.bias != nullptr) memory.CopyToDevice(bias_.data(), weights.bias, weights.outputs * sizeof(float));
  type == ComputeType::kF32 ? PackF32(weights, memory) : PackBF16(weights, memory);
}

void CudaLinear::PackF32(const LinearWeights& weights, DeviceMemory& memory) {
  std::vector<float> turned(static_cast<size_t>(weights.inputs) * weights.outputs);
  for (int32_t n = 0; n < weights.outputs; ++n) {
    for (int32_t k = 0; k < weights.inputs; ++k) {
      turned[static_cast<size_t>(k) * weights.outputs + n] =
          weights.weight[static_cast<size_t>(n) * weights.inputs + k];
    }
  }
  f32_ = DeviceArray<float>(memory, turned.size());
  memory.CopyToDevice(f32_.data(), turned.data(), turned.size() * sizeof(float));
}

void CudaLinear::PackBF16(const LinearWeights& weights, DeviceMemory& memory) {
  const int32_t tiles = CeilDiv(weights.outputs, kFragmentOutputs), chunks = CeilDiv(weights.inputs, kFragmentInputs);
  std::vector<uint4> fragments(static_cast<size_t>(tiles) * chunks * kWarp);
  for (size_t at = 0; at < fragments.size(); ++at) {
    const auto lane = static_cast<int32_t>(at % kWarp), chunk = static_cast<int32_t>(at / kWarp % chunks);
    const auto n = static_cast<int32_t>(at / kWarp / chunks) * kFragmentOutputs + lane / 4;
    const int32_t k = chunk * kFragmentInputs + lane % 4 * 2;
    fragments[at] =
        make_uint4(Pair(weights, n, k), Pair(weights, n, k + 8), Pair(weights, n, k + 16), Pair(weights, n, k + 24));
  }
  bf16_ = DeviceArray<uint4>(memory, fragments.size());
  memory.CopyToDevice(bf16_.data(), fragments.data(), fragments.size() * sizeof(uint4));
}

void CudaLinear::Run(Device& device, const LinearArgs& args) const {
  if (type_ == ComputeType::kF32) {
    LinearF32(device, {f32_.data(), bias_.data(), inputs(), outputs()}, args);
  } else {
    LinearBF16(device, {bf16_.data(), bias_.data(), inputs(), outputs()}, args);
  }
}

}  // namespace salient::cuda

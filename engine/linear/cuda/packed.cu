#include <algorithm>
#include <vector>

#include "engine/attention/bf16.h"
#include "engine/linear/cuda/packed.h"

namespace salient::cuda {
namespace {

// Layers of fewer inputs or outputs are heads of a few numbers, and larger ones are output layers: no encoder has either.
constexpr int32_t kLeastForLibrary = 32;
constexpr int32_t kMostForLibrary = 16384;

bool IsForLibrary(const LinearWeights& weights) {
  return weights.inputs >= kLeastForLibrary && weights.outputs >= kLeastForLibrary &&
         weights.outputs <= kMostForLibrary && weights.inputs % kGemmMultiple == 0 &&
         weights.outputs % kGemmMultiple == 0;
}

// A weight in bf16, zero outside the matrix.
uint32_t Rounded(const LinearWeights& weights, int32_t n, int32_t k) {
  if (n >= weights.outputs || k >= weights.inputs) return 0;
  return FloatToBF16(weights.weight[static_cast<size_t>(n) * weights.inputs + k]);
}

uint32_t Pair(const LinearWeights& weights, int32_t n, int32_t k) {
  return Rounded(weights, n, k) | Rounded(weights, n, k + 1) << 16;
}

}  // namespace

CudaLinear::CudaLinear(const LinearWeights& weights, ComputeType type, DeviceMemory& memory, GemmChoices& choices)
    : PackedLinear(weights.inputs, weights.outputs), type_(type), bias_(memory, weights.outputs) {
  if (weights.bias != nullptr) memory.CopyToDevice(bias_.data(), weights.bias, weights.outputs * sizeof(float));
  if (type == ComputeType::kF32) {
    PackF32(weights, memory);
  } else {
    PackBF16(weights, memory);
    if (IsForLibrary(weights)) PackInRows(weights, memory, choices);
  }
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

void CudaLinear::PackInRows(const LinearWeights& weights, DeviceMemory& memory, GemmChoices& choices) {
  plain_ = choices.For({inputs(), outputs(), false});
  relu_ = choices.For({inputs(), outputs(), true});
  if (plain_ == nullptr || relu_ == nullptr) return;
  std::vector<uint16_t> rounded(static_cast<size_t>(inputs()) * outputs());
  std::transform(weights.weight, weights.weight + rounded.size(), rounded.begin(), FloatToBF16);
  in_rows_ = DeviceArray<uint16_t>(memory, rounded.size());
  memory.CopyToDevice(in_rows_.data(), rounded.data(), rounded.size() * sizeof(uint16_t));
}

GemmAlgorithm* CudaLinear::GemmFor(const LinearArgs& args) const {
  const bool counted_on_device = args.rows.count != nullptr, scattered = args.scatter && args.rows.index != nullptr;
  const bool activated_before_adding = args.accumulate && args.activation != Activation::kNone;
  if (in_rows_.empty() || counted_on_device || scattered || activated_before_adding) return nullptr;
  return (args.activation == Activation::kRelu ? relu_ : plain_).get();
}

size_t CudaLinear::SpaceBytes(const LinearArgs& args) const {
  if (GemmFor(args) == nullptr) return 0;
  return static_cast<size_t>(args.rows.capacity) * inputs() * sizeof(uint16_t);
}

void CudaLinear::Run(Device& device, const LinearArgs& args, std::byte* space) const {
  if (args.rows.capacity == 0) return;
  if (GemmAlgorithm* gemm = GemmFor(args); gemm != nullptr) {
    return LinearMany(device, *gemm, {in_rows_.data(), bias_.data(), inputs(), outputs()}, args,
                      reinterpret_cast<uint16_t*>(space));
  }
  if (type_ == ComputeType::kF32) {
    LinearF32(device, {f32_.data(), bias_.data(), inputs(), outputs()}, args);
  } else {
    LinearBF16(device, {bf16_.data(), bias_.data(), inputs(), outputs()}, args);
  }
}

}  // namespace salient::cuda

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/core/bf16.h"
#include "engine/linear/cuda/packed.h"

namespace salient::cuda {
namespace {

// Layers of fewer inputs or outputs are heads of a few numbers, and larger ones are output layers: no encoder has
// either.
constexpr int32_t kLeastForLibrary = 32;
constexpr int32_t kMostForLibrary = 16384;

bool IsForLibrary(const LinearWeights& weights) {
  return weights.inputs >= kLeastForLibrary && weights.outputs >= kLeastForLibrary &&
         weights.outputs <= kMostForLibrary && weights.inputs % kGemmMultiple == 0 &&
         weights.outputs % kGemmMultiple == 0;
}

// The CPU takes such layers in fp32 (engine/linear/cpu/linear.cc).
constexpr int32_t kMostInt8Inputs = 65536;
constexpr float kTiny = 1e-36f;  // 127 / max would overflow; weights that small cannot be told from zero

ComputeType TypeOf(const LinearWeights& weights, ComputeType asked) {
  return asked == ComputeType::kInt8 && weights.inputs > kMostInt8Inputs ? ComputeType::kF32 : asked;
}

// Weights in the order of fragments (kernels.h): `word(n, k)` has those of output n from input k on.
template <typename Word>
std::vector<uint4> InFragments(const LinearWeights& weights, int32_t per_word, const Word& word) {
  const int32_t tiles = CeilDiv(weights.outputs, kFragmentOutputs);
  const int32_t chunks = CeilDiv(weights.inputs, kFragmentWords * per_word);
  std::vector<uint4> fragments(static_cast<size_t>(tiles) * chunks * kWarp);
  for (size_t at = 0; at < fragments.size(); ++at) {
    const auto lane = static_cast<int32_t>(at % kWarp), chunk = static_cast<int32_t>(at / kWarp % chunks);
    const auto n = static_cast<int32_t>(at / kWarp / chunks) * kFragmentOutputs + lane / 4;
    const int32_t k = (chunk * kFragmentWords + lane % 4) * per_word, step = 4 * per_word;
    fragments[at] = make_uint4(word(n, k), word(n, k + step), word(n, k + 2 * step), word(n, k + 3 * step));
  }
  return fragments;
}

}  // namespace

CudaLinear::CudaLinear(const LinearWeights& weights, ComputeType type, DeviceMemory& memory, GemmChoices& choices)
    : PackedLinear(weights.inputs, weights.outputs), type_(TypeOf(weights, type)), bias_(memory, weights.outputs) {
  if (weights.bias != nullptr) memory.CopyToDevice(bias_.data(), weights.bias, weights.outputs * sizeof(float));
  switch (type_) {
    case ComputeType::kBF16:
      PackBF16(weights, memory);
      if (IsForLibrary(weights)) PackInRows(weights, memory, choices);
      break;
    case ComputeType::kInt8:
      PackInt8(weights, memory);
      break;
    default:
      PackF32(weights, memory);
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
  f32_ = OnDevice(memory, turned);
}

void CudaLinear::PackBF16(const LinearWeights& weights, DeviceMemory& memory) {
  const auto rounded = [&](int32_t n, int32_t k) -> uint32_t {
    if (n >= weights.outputs || k >= weights.inputs) return 0;
    return FloatToBF16(weights.weight[static_cast<size_t>(n) * weights.inputs + k]);
  };
  fragments_ = OnDevice(
      memory, InFragments(weights, 2, [&](int32_t n, int32_t k) { return rounded(n, k) | rounded(n, k + 1) << 16; }));
}

// As the CPU packs them: each output has its own scale, max |w| / 127, and NaN where a weight is not finite.
void CudaLinear::PackInt8(const LinearWeights& weights, DeviceMemory& memory) {
  std::vector<float> scale(weights.outputs), inverse(weights.outputs);
  for (int32_t n = 0; n < weights.outputs; ++n) {
    const float* w = weights.weight + static_cast<size_t>(n) * weights.inputs;
    float largest = 0;
    bool finite = true;
    for (int32_t k = 0; k < weights.inputs; ++k) {
      largest = std::max(largest, std::abs(w[k]));
      finite = finite && std::isfinite(w[k]);
    }
    const bool none = !finite || largest <= kTiny;
    inverse[n] = none ? 0.0f : 127.0f / largest;
    scale[n] = !finite ? std::nanf("") : none ? 0.0f : largest / 127.0f;
  }
  const auto quantised = [&](int32_t n, int32_t k) -> uint32_t {
    if (n >= weights.outputs || k >= weights.inputs || inverse[n] == 0) return 0;
    const float w = weights.weight[static_cast<size_t>(n) * weights.inputs + k];
    return static_cast<uint8_t>(static_cast<int8_t>(std::nearbyint(w * inverse[n])));
  };
  fragments_ = OnDevice(memory, InFragments(weights, 4, [&](int32_t n, int32_t k) {
                          return quantised(n, k) | quantised(n, k + 1) << 8 | quantised(n, k + 2) << 16 |
                                 quantised(n, k + 3) << 24;
                        }));
  scale_ = OnDevice(memory, scale);
}

void CudaLinear::PackInRows(const LinearWeights& weights, DeviceMemory& memory, GemmChoices& choices) {
  plain_ = choices.For({inputs(), outputs(), false});
  relu_ = choices.For({inputs(), outputs(), true});
  if (plain_ == nullptr || relu_ == nullptr) return;
  std::vector<uint16_t> rounded(static_cast<size_t>(inputs()) * outputs());
  std::transform(weights.weight, weights.weight + rounded.size(), rounded.begin(), FloatToBF16);
  in_rows_ = OnDevice(memory, rounded);
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

void CudaLinear::Run(Device& device, const LinearArgs& args, std::byte* space, std::byte* workspace) const {
  if (args.rows.capacity == 0) return;
  if (GemmAlgorithm* gemm = GemmFor(args); gemm != nullptr) {
    return LinearMany(device, *gemm, {in_rows_.data(), bias_.data(), inputs(), outputs()}, args,
                      reinterpret_cast<uint16_t*>(space), workspace);
  }
  switch (type_) {
    case ComputeType::kBF16:
      return LinearFewBF16(device, fragments(), args);
    case ComputeType::kInt8:
      return LinearFewInt8(device, fragments(), args);
    default:
      LinearF32(device, {f32_.data(), bias_.data(), inputs(), outputs()}, args);
  }
}

bool CudaLinear::TakesRounded(const LinearArgs& args) const {
  return type_ == ComputeType::kBF16 && args.rows.count != nullptr && LinearFewTakesRounded(fragments());
}

void CudaLinear::RunRounded(Device& device, const LinearArgs& args) const {
  if (args.rows.capacity > 0) LinearFewRounded(device, fragments(), args);
}

}  // namespace salient::cuda

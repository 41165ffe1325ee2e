// The plain linear layer: what every faster one is tested against.
//
//   y[i, n] = act(sum_k x[i, k] w[n, k] + b[n])
//
// Sums are taken in double, so that a difference from this is the other side's rounding.

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/linear/linear.h"

namespace salient {
namespace {

class ReferenceLinear final : public PackedLinear {
 public:
  explicit ReferenceLinear(const LinearWeights& weights)
      : PackedLinear(weights.inputs, weights.outputs),
        weight(weights.weight, weights.weight + static_cast<size_t>(weights.inputs) * weights.outputs),
        bias(weights.outputs, 0.0f) {
    if (weights.bias != nullptr) std::copy_n(weights.bias, weights.outputs, bias.begin());
  }

  std::vector<float> weight;  // [outputs, inputs]
  std::vector<float> bias;    // [outputs]
};

double Activate(double x, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Activation::kSwish:
      return x / (1.0 + std::exp(-x));
  }
  return x;
}

}  // namespace

std::unique_ptr<PackedLinear> PackLinearReference(const LinearWeights& weights) {
  return std::make_unique<ReferenceLinear>(weights);
}

void LinearReference(const LinearArgs& args) {
  const auto& packed = static_cast<const ReferenceLinear&>(*args.weight);
  const size_t inputs = packed.inputs();
  const size_t outputs = packed.outputs();
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const float* x = args.input + i * inputs;
    float* y = args.output + (args.scatter ? args.rows[i] : i) * outputs;
    for (size_t n = 0; n < outputs; ++n) {
      const float* w = packed.weight.data() + n * inputs;
      double sum = packed.bias[n];
      for (size_t k = 0; k < inputs; ++k) sum += static_cast<double>(x[k]) * w[k];
      const auto result = static_cast<float>(Activate(sum, args.activation));
      y[n] = args.accumulate ? y[n] + result : result;
    }
  }
}

}  // namespace salient

// From a product to a result: adds the bias, applies the activation, and writes or adds to the output.

#pragma once

#include "engine/core/cuda/language.h"
#include "engine/linear/linear.h"

namespace salient::cuda {

// A NaN comes out as one.
__device__ inline float Activate(float x, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0.0f : x;
    case Activation::kGelu:
      return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case Activation::kSwish:
      return x / (1.0f + expf(-x));
  }
  return x;
}

// Puts the result of row i (of `args.rows`) and output n where it belongs.
__device__ inline void Finish(const LinearArgs& args, int32_t outputs, int32_t i, int32_t n, float sum) {
  const int32_t row = args.scatter ? RowAt(args.rows, i) : i;
  float* y = args.output + static_cast<size_t>(row) * outputs + n;
  const float result = Activate(sum, args.activation);
  *y = args.accumulate ? *y + result : result;
}

}  // namespace salient::cuda

// From a block of accumulators to results: scale, bias, activation, and the way to the output.
//
//   y[i, n] = act(accumulator[i, n] * (x_scale[i] * w_scale[n]) + bias[n])     (fp32 and bf16: without the scales)

#pragma once

#include "engine/linear/activation.h"
#include "engine/linear/kernels.h"
#include "engine/linear/simd.h"

namespace salient::linear_internal {
namespace {

constexpr int kPanelVectors = kPanelOutputs / kLanes;

// Accumulators of `rows` rows from `row` on and `panels` panels from `panel` on; row r of panel p lies at
// values[r * row_stride + p * panel_stride].
template <class T>
struct Accumulators {
  const T* values;
  int row_stride, panel_stride;
  int32_t row, rows, panel, panels;
  // What was added to every int8 input so that it has no sign; the kernel's sums are too large by this much times
  // the sum of the weights.
  int32_t input_offset = 0;
};

inline Floats Dequantised(const Multiplication& job, const Accumulators<float>&, int32_t, int32_t, const float* from) {
  (void)job;
  return Load<Floats>(from);
}

inline Floats Dequantised(const Multiplication& job, const Accumulators<int32_t>& block, int32_t row, int32_t column,
                          const int32_t* from) {
  const PackedWeights& weights = *job.weights;
  const Ints sum = Load<Ints>(from) - block.input_offset * Load<Ints>(weights.sum + column);
  return ToFloats(sum) * (job.scale[row] * Load<Floats>(weights.scale + column));
}

template <Activation kActivation, bool kAccumulate, class T>
inline void FinishBlock(const Multiplication& job, const Accumulators<T>& block) {
  const PackedWeights& weights = *job.weights;
  const int32_t outputs = weights.outputs;
  for (int32_t r = 0; r < block.rows; ++r) {
    const int32_t row = block.row + r;
    const size_t to = job.output_row == nullptr ? row : job.output_row[row];
    float* output = job.output + to * outputs;
    for (int32_t p = 0; p < block.panels; ++p) {
      const T* values = block.values + r * block.row_stride + p * block.panel_stride;
      const int32_t first = (block.panel + p) * kPanelOutputs;
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVectors; ++v) {
        const int32_t column = first + v * kLanes;
        Floats y = Dequantised(job, block, row, column, values + v * kLanes) + Load<Floats>(weights.bias + column);
        y = Activate<kActivation>(y);
        if (column + kLanes <= outputs) {
          if constexpr (kAccumulate) y += Load<Floats>(output + column);
          Store(output + column, y);
        } else {
          for (int32_t lane = 0; lane < outputs - column; ++lane) {
            output[column + lane] = kAccumulate ? output[column + lane] + y[lane] : y[lane];
          }
        }
      }
    }
  }
}

template <Activation kActivation, class T>
inline void FinishAs(const Multiplication& job, const Accumulators<T>& block) {
  if (job.accumulate) {
    FinishBlock<kActivation, true>(job, block);
  } else {
    FinishBlock<kActivation, false>(job, block);
  }
}

template <class T>
inline void Finish(const Multiplication& job, const Accumulators<T>& block) {
  switch (job.activation) {
    case Activation::kNone:
      return FinishAs<Activation::kNone>(job, block);
    case Activation::kRelu:
      return FinishAs<Activation::kRelu>(job, block);
    case Activation::kGelu:
      return FinishAs<Activation::kGelu>(job, block);
    case Activation::kSwish:
      return FinishAs<Activation::kSwish>(job, block);
  }
}

}  // namespace
}  // namespace salient::linear_internal

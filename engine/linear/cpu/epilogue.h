// From a block of accumulators to results: applies scale, bias and activation, and writes or adds to the output.
//
//   y[i, n] = act(accumulator[i, n] * (x_scale[i] * w_scale[n]) + bias[n])     (fp32 and bf16: without the scales)

#pragma once

#include "engine/linear/cpu/activation.h"
#include "engine/linear/cpu/kernels.h"
#include "engine/linear/cpu/simd.h"

namespace salient::linear_internal {
namespace {

constexpr int kPanelVectors = kPanelOutputs / kLanes;

// Accumulators of `rows` rows from `row` on and some panels from `panel` on; row r of panel p lies at
// values[r * row_stride + p * panel_stride].
template <class T>
struct Accumulators {
  const T* values;
  int row_stride, panel_stride;
  int32_t row, rows, panel;
};

// What turns accumulators of one vector of outputs into results, but for the row's scale.
struct FloatOutputs {
  using Sum = float;
  void Read(const PackedWeights& weights, int32_t column) { bias = Load<Floats>(weights.bias + column); }
  Floats Result(const float* sums, const float*, int32_t) const { return Load<Floats>(sums) + bias; }
  Floats bias;
};

// kInputOffset: what the kernel added to every input so that it has no sign. The sums are too large by as many times
// the sum of the weights.
template <int kInputOffset>
struct Int8Outputs {
  using Sum = int32_t;
  void Read(const PackedWeights& weights, int32_t column) {
    scale = Load<Floats>(weights.scale + column);
    bias = Load<Floats>(weights.bias + column);
    if constexpr (kInputOffset != 0) excess = Load<Ints>(weights.sum + column) * kInputOffset;
  }
  Floats Result(const int32_t* sums, const float* row_scale, int32_t row) const {
    Ints sum = Load<Ints>(sums);
    if constexpr (kInputOffset != 0) sum -= excess;
    return ToFloats(sum) * (row_scale[row] * scale) + bias;
  }
  Floats scale, bias;
  Ints excess;
};

// Where the results of a block go: row i to first + (row == null ? i : row[i]) * width, counted from the block's first.
struct Destination {
  float* first;
  size_t width;
  const int32_t* row;
};

// Row by row, so that the lines of an output row are written one after the other. What the loop needs of `job` is read
// before it: a store through memcpy could change `job` for all that the compiler knows.
template <Activation kActivation, bool kAccumulate, int kVectors, class Outputs>
inline void FinishRows(const Multiplication& job, const Accumulators<typename Outputs::Sum>& block, Destination to) {
  const float* scale = job.scale + block.row;
  const auto [values, row_stride, panel_stride, row, rows, panel] = block;
  Outputs outputs[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) outputs[v].Read(*job.weights, panel * kPanelOutputs + v * kLanes);
  for (int32_t r = 0; r < rows; ++r) {
    float* output = to.first + static_cast<size_t>(to.row == nullptr ? r : to.row[r]) * to.width;
    const typename Outputs::Sum* sums = values + r * row_stride;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const int at = v / kPanelVectors * panel_stride + v % kPanelVectors * kLanes;
      Floats y = Activate<kActivation>(outputs[v].Result(sums + at, scale, r));
      if constexpr (kAccumulate) y += Load<Floats>(output + v * kLanes);
      Store(output + v * kLanes, y);
    }
  }
}

// The layer's last outputs, where whole vectors would go past the end of a row: each row through a buffer.
template <Activation kActivation, bool kAccumulate, int kPanels, class Outputs>
void FinishLastOutputs(const Multiplication& job, const Accumulators<typename Outputs::Sum>& block, Destination to) {
  const int32_t columns = job.weights->outputs - block.panel * kPanelOutputs;
  for (int32_t r = 0; r < block.rows; ++r) {
    float results[kPanels * kPanelOutputs] = {};
    Accumulators<typename Outputs::Sum> one = block;
    one.values += r * block.row_stride;
    one.row += r;
    one.rows = 1;
    FinishRows<kActivation, false, kPanels * kPanelVectors, Outputs>(job, one, {results, 0, nullptr});
    float* output = to.first + static_cast<size_t>(to.row == nullptr ? r : to.row[r]) * to.width;
    for (int32_t n = 0; n < columns; ++n) output[n] = kAccumulate ? output[n] + results[n] : results[n];
  }
}

template <Activation kActivation, bool kAccumulate, int kPanels, class Outputs>
inline void FinishBlock(const Multiplication& job, const Accumulators<typename Outputs::Sum>& block) {
  const size_t width = job.weights->outputs;
  const bool scattered = job.output_row != nullptr;
  float* row = scattered ? job.output : job.output + block.row * width;
  const Destination to = {row + block.panel * kPanelOutputs, width, scattered ? job.output_row + block.row : nullptr};
  if ((block.panel + kPanels) * kPanelOutputs <= job.weights->outputs) {
    FinishRows<kActivation, kAccumulate, kPanels * kPanelVectors, Outputs>(job, block, to);
  } else {
    FinishLastOutputs<kActivation, kAccumulate, kPanels, Outputs>(job, block, to);
  }
}

template <Activation kActivation, int kPanels, class Outputs>
inline void FinishAs(const Multiplication& job, const Accumulators<typename Outputs::Sum>& block) {
  if (job.accumulate) {
    FinishBlock<kActivation, true, kPanels, Outputs>(job, block);
  } else {
    FinishBlock<kActivation, false, kPanels, Outputs>(job, block);
  }
}

template <int kPanels, class Outputs>
inline void Finish(const Multiplication& job, const Accumulators<typename Outputs::Sum>& block) {
  switch (job.activation) {
    case Activation::kNone:
      return FinishAs<Activation::kNone, kPanels, Outputs>(job, block);
    case Activation::kRelu:
      return FinishAs<Activation::kRelu, kPanels, Outputs>(job, block);
    case Activation::kGelu:
      return FinishAs<Activation::kGelu, kPanels, Outputs>(job, block);
    case Activation::kSwish:
      return FinishAs<Activation::kSwish, kPanels, Outputs>(job, block);
  }
}

}  // namespace
}  // namespace salient::linear_internal

// Linear layers: y = act(x W^T + b), W packed once for the device.
//
// A row of the result depends on that row of x alone, bit for bit, whatever other rows are computed with it: the
// reduction over K is blocked in the same way for every number of rows, and int8 is exact.

#pragma once

#include <cstdint>
#include <memory>

#include "engine/core/rows.h"

namespace salient {

enum class Activation : int32_t { kNone, kRelu, kGelu, kSwish };

// A weight matrix in the form that a backend's Linear reads. Made by Backend::Pack, immutable.
class PackedLinear {
 public:
  PackedLinear(int32_t inputs, int32_t outputs) : inputs_(inputs), outputs_(outputs) {}
  virtual ~PackedLinear() = default;
  int32_t inputs() const { return inputs_; }    // K
  int32_t outputs() const { return outputs_; }  // N

 private:
  int32_t inputs_, outputs_;
};

struct LinearWeights {
  const float* weight = nullptr;  // [outputs, inputs]
  const float* bias = nullptr;    // [outputs], null for none
  int32_t inputs = 0, outputs = 0;
};

struct LinearArgs {
  const PackedLinear* weight = nullptr;
  Rows rows;                     // how many rows; `index` says where results go when `scatter` is set
  const float* input = nullptr;  // [rows.capacity, K] contiguous
  Activation activation = Activation::kNone;
  float* output = nullptr;  // [., N]
  bool scatter = false;     // result i goes to output row rows[i] instead of i
  bool accumulate = false;  // added to what is there: the residual
};

std::unique_ptr<PackedLinear> PackLinearReference(const LinearWeights& weights);
void LinearReference(const LinearArgs& args);

}  // namespace salient

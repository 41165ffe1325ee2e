// Products by a library: what computes the layers of an encoder, with its thousands of rows.
//
//   y[i] = act(x[i] W^T + b) (+ what is in y[i])
//
// x [rows, inputs] and W [outputs, inputs] in bf16, b [outputs] and y [rows, outputs] in fp32, sums in fp32; all
// contiguous, aligned to 16, on the device. Two implementations: cuBLASLt (gemm_cublaslt.cc), and the emulation's.

#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/core/cuda/device.h"

namespace salient::cuda {

struct GemmShape {
  int32_t inputs = 0, outputs = 0;
  bool relu = false;  // else no activation

  auto operator<=>(const GemmShape&) const = default;
};

struct GemmCall {
  int32_t rows = 0;
  const uint16_t* x = nullptr;
  const uint16_t* weight = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  bool accumulate = false;  // only without an activation
};

// One way to compute one shape, for any number of rows. Errors are the device's.
class GemmAlgorithm {
 public:
  virtual ~GemmAlgorithm() = default;
  virtual void Run(Device& device, const GemmCall& call) = 0;  // on a stream of the library's device
};

class GemmLibrary {
 public:
  virtual ~GemmLibrary() = default;
  // Those that take every number of rows, the fastest for `rows` first as far as the library can tell. They must not
  // outlive the library.
  virtual std::vector<std::shared_ptr<GemmAlgorithm>> Algorithms(const GemmShape& shape, int32_t rows) = 0;
};

// Of the device that is open. Null where the library cannot be used. It must not outlive the device.
std::unique_ptr<GemmLibrary> OpenGemmLibrary();

}  // namespace salient::cuda

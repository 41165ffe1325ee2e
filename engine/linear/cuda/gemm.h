// Products by a library: what computes the layers of an encoder, with its thousands of rows.
//
//   y[i] = act(x[i] W^T + b) (+ what is in y[i])
//
// x [rows, inputs] and W [outputs, inputs] in bf16, b [outputs] and y [rows, outputs] in fp32, sums in fp32; all
// contiguous, aligned to kGemmAlignment, on the device. Three implementations: cuBLASLt (gemm_cublaslt.cc), none where
// a build has no cuBLASLt (no_gemm.cc), and the emulation's.

#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/core/cuda/device.h"

namespace salient::cuda {

inline constexpr size_t kGemmAlignment = 16;
// Memory that an algorithm may work in: what NVIDIA recommends for Hopper, whose best kernels ask for some. Fixed, so
// that an algorithm works in the same way however many rows there are.
inline constexpr size_t kGemmWorkspaceBytes = size_t{32} << 20;

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
  bool accumulate = false;         // only without an activation
  std::byte* workspace = nullptr;  // [kGemmWorkspaceBytes], of no other stream
  int32_t multiprocessors = 0;     // that the product may fill; 0: all
};

// One way to compute one shape, for any number of rows.
class GemmAlgorithm {
 public:
  virtual ~GemmAlgorithm() = default;
  // On a stream of the library's device. An error means that the library has refused the call and launched nothing; the
  // device has not failed by that.
  virtual absl::Status Run(Device& device, const GemmCall& call) = 0;
  virtual std::string Name() const = 0;
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

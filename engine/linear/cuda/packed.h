// A packed layer of the CUDA backend.

#pragma once

#include <cstdint>
#include <memory>

#include "engine/backend/memory.h"
#include "engine/linear/cuda/kernels.h"
#include "engine/linear/linear.h"

namespace salient::cuda {

// Immutable once made.
class CudaLinear final : public PackedLinear {
 public:
  // `type` is kF32 or kBF16.
  CudaLinear(const LinearWeights& weights, ComputeType type, DeviceMemory& memory);

  void Run(Device& device, const LinearArgs& args) const;

 private:
  void PackF32(const LinearWeights& weights, DeviceMemory& memory);
  void PackBF16(const LinearWeights& weights, DeviceMemory& memory);

  const ComputeType type_;
  DeviceArray<float> bias_;
  DeviceArray<float> f32_;
  DeviceArray<uint4> bf16_;
};

}  // namespace salient::cuda

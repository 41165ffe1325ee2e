// A packed layer of the CUDA backend.

#pragma once

#include <cstdint>
#include <memory>

#include "engine/core/element_type.h"
#include "engine/core/memory.h"
#include "engine/linear/cuda/gemm_choice.h"
#include "engine/linear/cuda/kernels.h"
#include "engine/linear/linear.h"

namespace salient::cuda {

// Two kernels share a layer's calls in bf16. Which of them computes a call follows from what the call is, never from
// how many rows there are: encoding knows its rows on the host and goes to the library, a decoding step's are counted
// on the device. So a row gets the same bits whatever is computed with it.
//
// Immutable once made.
class CudaLinear final : public PackedLinear {
 public:
  // `type` is not kAuto.
  CudaLinear(const LinearWeights& weights, ComputeType type, DeviceMemory& memory, GemmChoices& choices);

  // Bytes on the device that Run works in. Where it is more than none, Run needs a workspace, too (GemmCall).
  size_t SpaceBytes(const LinearArgs& args) const;
  // Whether `fragments` are there, and what they hold: kBF16 or kInt8.
  bool has_fragments() const { return !fragments_.empty(); }
  ComputeType type() const { return type_; }
  WeightsInFragments fragments() const { return {fragments_.data(), bias_.data(), scale_.data(), inputs(), outputs()}; }
  void Run(Device& device, const LinearArgs& args, std::byte* space, std::byte* workspace) const;
  // The same for a step's rows that are in bf16 already, at args.input, with the bits that Run gives the same rows in
  // fp32: for the calls that TakesRounded takes.
  bool TakesRounded(const LinearArgs& args) const;
  void RunRounded(Device& device, const LinearArgs& args) const;

 private:
  void PackF32(const LinearWeights& weights, DeviceMemory& memory);
  void PackBF16(const LinearWeights& weights, DeviceMemory& memory);
  void PackInt8(const LinearWeights& weights, DeviceMemory& memory);
  void PackInRows(const LinearWeights& weights, DeviceMemory& memory, GemmChoices& choices);
  GemmAlgorithm* GemmFor(const LinearArgs& args) const;

  const ComputeType type_;
  DeviceArray<float> bias_;
  DeviceArray<float> f32_;         // kF32
  DeviceArray<uint4> fragments_;   // kBF16 and kInt8
  DeviceArray<float> scale_;       // kInt8, an output
  DeviceArray<uint16_t> in_rows_;  // empty where the library does not take the layer
  std::shared_ptr<GemmAlgorithm> plain_, relu_;
};

}  // namespace salient::cuda

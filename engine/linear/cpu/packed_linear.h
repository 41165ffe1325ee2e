// A packed layer of the CPU backend: its weights in the kernels' layout, in memory of its own.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/thread_pool.h"
#include "engine/core/element_type.h"
#include "engine/linear/cpu/kernels.h"
#include "engine/linear/linear.h"

namespace salient::linear_internal {

// Bytes aligned to 64, and to huge pages where there are enough of them: a layer is read from end to end at every
// step, and 4 KB pages would cost a translation miss a page. Grows only; contents are lost when it does.
class AlignedBytes {
 public:
  uint8_t* data() const { return data_.get(); }
  // Afterwards there is room for so many bytes. New memory is not initialised.
  void Reserve(size_t bytes);

 private:
  struct Free {
    void operator()(uint8_t* data) const;
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

// Immutable once made.
class CpuLinear final : public PackedLinear {
 public:
  // `type` is one of the three that are computed, not kAuto; the kernels are for this type.
  CpuLinear(const LinearWeights& weights, ComputeType type, const Kernel& kernel, const Kernel& single_row_kernel,
            ThreadPool& pool);
  // Of some outputs of another layer, each of them the same in bits.
  CpuLinear(const CpuLinear& from, std::span<const int32_t> outputs, ThreadPool& pool);

  const Kernel& kernel(int32_t rows) const { return rows == 1 ? single_row_kernel_ : kernel_; }
  const PackedWeights& weights() const { return view_; }

 private:
  void SetOutputs(const float* bias);
  void PackF32(const LinearWeights& weights, ThreadPool& pool);
  void PackBf16(const LinearWeights& weights, ThreadPool& pool);
  void PackInt8(const LinearWeights& weights, ThreadPool& pool);
  // Reserves zeroed panels for lines of `inputs_per_line` inputs, K rounded up to `chunk` of them.
  void ReservePanels(int32_t chunk, int32_t inputs_per_line);
  // The same for panels that are as long as `panel_bytes` of view_ says.
  void ReservePanels();
  // Line `line` of the panel of output n, at that output.
  uint8_t* Word(int32_t n, int32_t line);

  const Kernel& kernel_;
  const Kernel& single_row_kernel_;
  PackedWeights view_;
  AlignedBytes data_;
  std::vector<float> bias_, scale_;
  std::vector<int32_t> sum_;
};

}  // namespace salient::linear_internal

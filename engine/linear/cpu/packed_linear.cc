#include "engine/linear/cpu/packed_linear.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/base/thread_pool.h"
#include "engine/core/bf16.h"

namespace salient::linear_internal {
namespace {

constexpr float kTiny = 1e-36f;  // 127 / max would overflow below this; such weights count as zero
constexpr size_t kHugePage = size_t{2} << 20;

size_t RoundUp(size_t x, size_t multiple) { return (x + multiple - 1) / multiple * multiple; }

// Calls body(n, weights of output n). One thread has all outputs of a panel, so threads never share a cache line.
template <class Body>
void ForEachOutput(const LinearWeights& weights, ThreadPool& pool, const Body& body) {
  pool.ParallelFor((weights.outputs + kPanelOutputs - 1) / kPanelOutputs, [&](int64_t panel, int) {
    const auto first = static_cast<int32_t>(panel) * kPanelOutputs;
    for (int32_t n = first; n < std::min(first + kPanelOutputs, weights.outputs); ++n) {
      body(n, weights.weight + static_cast<size_t>(n) * weights.inputs);
    }
  });
}

}  // namespace

void AlignedBytes::Free::operator()(uint8_t* data) const { std::free(data); }

void AlignedBytes::Reserve(size_t bytes) {
  if (bytes <= size_) return;
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  bytes = RoundUp(bytes, alignment);
  data_.reset(static_cast<uint8_t*>(std::aligned_alloc(alignment, bytes)));
  if (data_ == nullptr) {
    // As in DeviceMemory: where the host has no memory left, the process ends.
    std::fprintf(stderr, "salient: out of memory: a linear layer needs %zu bytes; use a smaller model or int8\n",
                 bytes);
    std::abort();
  }
  if (alignment == kHugePage) madvise(data_.get(), bytes, MADV_HUGEPAGE);
  size_ = bytes;
}

CpuLinear::CpuLinear(const LinearWeights& weights, ComputeType type, const Kernel& kernel,
                     const Kernel& single_row_kernel, ThreadPool& pool)
    : PackedLinear(weights.inputs, weights.outputs), kernel_(kernel), single_row_kernel_(single_row_kernel) {
  SetOutputs(weights.bias);
  switch (type) {
    case ComputeType::kBF16:
      PackBf16(weights, pool);
      break;
    case ComputeType::kInt8:
      PackInt8(weights, pool);
      break;
    default:
      PackF32(weights, pool);
  }
}

CpuLinear::CpuLinear(const CpuLinear& from, std::span<const int32_t> outputs, ThreadPool& pool)
    : PackedLinear(from.inputs(), static_cast<int32_t>(outputs.size())),
      kernel_(from.kernel_),
      single_row_kernel_(from.single_row_kernel_) {
  std::vector<float> bias;
  for (const int32_t n : outputs) bias.push_back(from.bias_[n]);
  SetOutputs(bias.data());
  view_.padded_inputs = from.view_.padded_inputs;
  view_.panel_bytes = from.view_.panel_bytes;
  ReservePanels();
  if (!from.scale_.empty()) {
    scale_.resize(bias_.size());
    sum_.resize(bias_.size());
    view_.scale = scale_.data();
    view_.sum = sum_.data();
  }
  pool.ParallelFor(view_.panels, [&](int64_t panel, int) {
    const size_t first = static_cast<size_t>(panel) * kPanelOutputs;
    for (size_t i = first; i < std::min(first + kPanelOutputs, outputs.size()); ++i) {
      const int32_t n = outputs[i];
      if (!scale_.empty()) {
        scale_[i] = from.scale_[n];
        sum_[i] = from.sum_[n];
      }
      const uint8_t* word = from.view_.data + n / kPanelOutputs * view_.panel_bytes + n % kPanelOutputs * 4;
      uint8_t* to = Word(static_cast<int32_t>(i), 0);
      for (size_t line = 0; line < view_.panel_bytes; line += 64) std::memcpy(to + line, word + line, 4);
    }
  });
}

// Sets what every number format needs: sizes, and biases padded to whole pairs of panels.
void CpuLinear::SetOutputs(const float* bias) {
  view_.inputs = inputs();
  view_.outputs = outputs();
  view_.panels = static_cast<int32_t>(RoundUp(outputs(), 2 * kPanelOutputs) / kPanelOutputs);
  bias_.resize(static_cast<size_t>(view_.panels) * kPanelOutputs);
  if (bias != nullptr) std::copy_n(bias, outputs(), bias_.begin());
  view_.bias = bias_.data();
}

void CpuLinear::ReservePanels(int32_t chunk, int32_t inputs_per_line) {
  view_.padded_inputs = static_cast<int32_t>(RoundUp(inputs(), chunk));
  view_.panel_bytes = static_cast<size_t>(view_.padded_inputs) / inputs_per_line * 64;
  ReservePanels();
}

void CpuLinear::ReservePanels() {
  const size_t bytes = view_.panels * view_.panel_bytes;
  data_.Reserve(bytes);
  std::memset(data_.data(), 0, bytes);
  view_.data = data_.data();
}

uint8_t* CpuLinear::Word(int32_t n, int32_t line) {
  return data_.data() + n / kPanelOutputs * view_.panel_bytes + size_t{64} * line + n % kPanelOutputs * 4;
}

void CpuLinear::PackF32(const LinearWeights& weights, ThreadPool& pool) {
  ReservePanels(16, 1);
  ForEachOutput(weights, pool, [this](int32_t n, const float* w) {
    for (int32_t k = 0; k < inputs(); ++k) std::memcpy(Word(n, k), w + k, sizeof(float));
  });
}

void CpuLinear::PackBf16(const LinearWeights& weights, ThreadPool& pool) {
  ReservePanels(32, 2);
  ForEachOutput(weights, pool, [this](int32_t n, const float* w) {
    for (int32_t k = 0; k < inputs(); ++k) {
      const uint16_t value = FloatToBF16(w[k]);
      std::memcpy(Word(n, k / 2) + k % 2 * 2, &value, sizeof(value));
    }
  });
}

// Each output has its own scale, max |w| / 127, so that one large output does not reduce the precision of the others.
void CpuLinear::PackInt8(const LinearWeights& weights, ThreadPool& pool) {
  ReservePanels(64, 4);
  scale_.resize(bias_.size());
  sum_.resize(bias_.size());
  view_.scale = scale_.data();
  view_.sum = sum_.data();
  ForEachOutput(weights, pool, [this](int32_t n, const float* w) {
    float largest = 0;
    bool finite = true;
    for (int32_t k = 0; k < inputs(); ++k) {
      largest = std::max(largest, std::abs(w[k]));
      finite = finite && std::isfinite(w[k]);
    }
    if (!finite) {  // a weight that is not finite makes the whole output NaN
      scale_[n] = std::nanf("");
      return;
    }
    const float inverse = largest > kTiny ? 127.0f / largest : 0.0f;
    scale_[n] = largest > kTiny ? largest / 127.0f : 0.0f;
    for (int32_t k = 0; k < inputs(); ++k) {
      const auto value = static_cast<int8_t>(std::nearbyint(w[k] * inverse));
      sum_[n] += value;
      std::memcpy(Word(n, k / 4) + k % 4, &value, sizeof(value));
    }
  });
}

}  // namespace salient::linear_internal

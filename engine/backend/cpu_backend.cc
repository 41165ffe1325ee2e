// The CPU backend: kernels for the instruction sets that the machine has, on a pool of its own threads.

#include <memory>
#include <string>

#include "engine/attention/cpu/operations.h"
#include "engine/backend/backend.h"
#include "engine/base/cpu_features.h"
#include "engine/base/thread_pool.h"
#include "engine/core/host_memory.h"
#include "engine/linear/cpu/operations.h"
#include "engine/norm/cpu/operations.h"
#include "engine/recurrence/cpu/operations.h"
#include "engine/search/cpu/operations.h"

namespace salient {
namespace {

const char* ComputeName(ComputeType compute) {
  switch (compute) {
    case ComputeType::kAuto:
      return "auto";
    case ComputeType::kF32:
      return "fp32";
    case ComputeType::kBF16:
      return "bf16";
    case ComputeType::kInt8:
      return "int8";
  }
  return "unknown";
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : compute_(ResolveComputeCpu(options.compute)), pool_(options.threads) {}

  std::string Name() const override {
    return std::string("cpu ") + ComputeName(compute_) + " (" + CpuIsaName(DetectCpuIsa()) + ")";
  }
  DeviceMemory& memory() override { return memory_; }
  ElementType kv_type() const override {
    return compute_ == ComputeType::kF32 ? ElementType::kF32 : ElementType::kBF16;
  }

  std::unique_ptr<PackedLinear> Pack(const LinearWeights& weights) override {
    return PackLinearCpu(weights, compute_, pool_);
  }
  std::unique_ptr<PackedLinear> PickOutputs(const PackedLinear& layer, std::span<const int32_t> outputs) override {
    return PickOutputsCpu(layer, outputs, pool_);
  }

  void Embed(const EmbedArgs& args) override { EmbedCpu(args, pool_); }
  void LayerNorm(const LayerNormArgs& args) override { LayerNormCpu(args, pool_); }
  void Linear(const LinearArgs& args) override { LinearCpu(args, pool_); }
  void Rotate(const RotateArgs& args) override { RotateCpu(args, pool_); }
  void Ssru(const SsruArgs& args) override { SsruCpu(args, pool_); }
  void AppendKeyValue(const AppendKeyValueArgs& args) override { AppendKeyValueCpu(args, pool_); }
  void AppendSelection(const AppendSelectionArgs& args) override { AppendSelectionCpu(args, pool_); }
  void Select(const SelectArgs& args) override { SelectCpu(args, pool_); }
  void Attend(const AttendArgs& args) override { AttendCpu(args, pool_); }
  void TopProbability(const TopProbabilityArgs& args) override { TopProbabilityCpu(args, pool_); }
  void Candidates(const CandidatesArgs& args) override { CandidatesCpu(args, pool_); }

 private:
  const ComputeType compute_;
  HostMemory memory_;
  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(const CpuOptions& options) { return std::make_unique<CpuBackend>(options); }

}  // namespace salient

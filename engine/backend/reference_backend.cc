// The reference backend: every operation's plain reference, fp32 keys and values, one thread.

#include <memory>
#include <string>

#include "engine/backend/backend.h"
#include "engine/core/host_memory.h"

namespace salient {
namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string Name() const override { return "reference"; }
  DeviceMemory& memory() override { return memory_; }
  ElementType kv_type() const override { return ElementType::kF32; }

  std::unique_ptr<PackedLinear> Pack(const LinearWeights& weights) override { return PackLinearReference(weights); }

  void Embed(const EmbedArgs& args) override { EmbedReference(args); }
  void LayerNorm(const LayerNormArgs& args) override { LayerNormReference(args); }
  void Linear(const LinearArgs& args) override { LinearReference(args); }
  void Rotate(const RotateArgs& args) override { RotateReference(args); }
  void Ssru(const SsruArgs& args) override { SsruReference(args); }
  void AppendKeyValue(const AppendKeyValueArgs& args) override { AppendKeyValueReference(args); }
  void AppendSelection(const AppendSelectionArgs& args) override { AppendSelectionReference(args); }
  void Select(const SelectArgs& args) override { SelectReference(args); }
  void Attend(const AttendArgs& args) override { AttendReference(args); }
  void TopProbability(const TopProbabilityArgs& args) override { TopProbabilityReference(args); }
  void Candidates(const CandidatesArgs& args) override { CandidatesReference(args); }

 private:
  HostMemory memory_;
};

}  // namespace

std::unique_ptr<Backend> MakeReferenceBackend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace salient

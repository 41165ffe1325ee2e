#include "engine/backend/cuda/cuda_backend.h"

#include <bit>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/attention/cuda/operations.h"
#include "engine/attention/mass.h"
#include "engine/core/cuda/cuda_memory.h"
#include "engine/depth/cuda/operations.h"
#include "engine/linear/cuda/packed.h"
#include "engine/norm/cuda/operations.h"
#include "engine/recurrence/cuda/operations.h"
#include "engine/search/cuda/operations.h"

namespace salient::cuda {
namespace {

// Rows whose split results there is room for; larger calls, of encoders, are cut.
constexpr int32_t kPartialRows = 512;

const char* ComputeName(ComputeType compute) {
  return compute == ComputeType::kF32 ? "fp32" : compute == ComputeType::kInt8 ? "int8" : "bf16";
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::unique_ptr<Device> device, ComputeType compute, bool host_visible)
      : CudaBackend(std::move(device), compute, host_visible, nullptr) {}

  std::string Name() const override {
    const std::string encoder = compute_ == ComputeType::kBF16 ? absl::StrCat("; encoder: ", gemms_->Summary()) : "";
    return absl::StrCat("cuda ", ComputeName(compute_), " (", device_->Name(), encoder, ")");
  }
  std::string GemmReport() const { return gemms_->Report(); }
  // Unified addressing: the copy goes wherever `to` is.
  void CopyOnDevice(void* to, const void* from, size_t bytes) { device_->StartCopyToHost(to, from, bytes); }
  DeviceMemory& memory() override { return memory_; }
  ElementType kv_type() const override {
    return compute_ == ComputeType::kF32 ? ElementType::kF32 : ElementType::kBF16;
  }
  absl::Status status() const override { return device_->status(); }
  std::unique_ptr<Backend> OpenQueue() override {
    return std::unique_ptr<Backend>(new CudaBackend(device_->OpenStream(), compute_, host_visible_, gemms_));
  }
  void After(Backend& other) override { device_->After(*static_cast<CudaBackend&>(other).device_); }
  void LeaveRoom(bool leave) override { device_->LeaveRoom(leave); }

  std::unique_ptr<PackedLinear> Pack(const LinearWeights& weights) override {
    return std::make_unique<CudaLinear>(weights, compute_, memory_, *gemms_);
  }

  void Embed(const EmbedArgs& args) override {
    const double* turns = args.offsets == nullptr ? nullptr : Turns(args.width / 2, args.base);
    cuda::Embed(*device_, args, turns);
    Done();
  }
  void LayerNorm(const LayerNormArgs& args) override {
    cuda::LayerNorm(*device_, args);
    Done();
  }
  void GatherRows(const GatherRowsArgs& args) override {
    cuda::GatherRows(*device_, args);
    Done();
  }
  void MeanRows(const MeanRowsArgs& args) override {
    cuda::MeanRows(*device_, args);
    Done();
  }
  void Linear(const LinearArgs& args) override {
    const auto& layer = static_cast<const CudaLinear&>(*args.weight);
    const size_t bytes = layer.SpaceBytes(args);
    if (bytes == 0) {
      layer.Run(*device_, args, nullptr, nullptr);
    } else {
      layer.Run(*device_, args, Space(linear_, bytes), Space(workspace_, kGemmWorkspaceBytes));
    }
    Done();
  }
  void Rotate(const RotateArgs& args) override {
    cuda::Rotate(*device_, args, Turns(args.head_width / 2, args.base));
    Done();
  }
  void Ssru(const SsruArgs& args) override {
    cuda::Ssru(*device_, args);
    Done();
  }
  void AppendKeyValue(const AppendKeyValueArgs& args) override {
    cuda::AppendKeyValue(*device_, args);
    Done();
  }
  void AppendSelection(const AppendSelectionArgs& args) override {
    cuda::AppendSelection(*device_, args);
    Done();
  }
  void Project(const ProjectArgs& args) override {
    const auto turns = [this](int32_t half, double base) { return Turns(half, base); };
    if (!cuda::Project(*device_, args, turns)) return Backend::Project(args);
    Done();
  }
  void FeedForward(const ProjectArgs& up, const LinearArgs& down) override {
    const auto turns = [this](int32_t half, double base) { return Turns(half, base); };
    const auto& layer = static_cast<const CudaLinear&>(*down.weight);
    if (!layer.TakesRounded(down) || !cuda::Project(*device_, up, turns, /*rounded=*/true)) {
      return Backend::FeedForward(up, down);
    }
    layer.RunRounded(*device_, down);
    Done();
  }
  void Select(const SelectArgs& args) override {
    cuda::Select(*device_, args, mass_table_.data());
    Done();
  }
  void Attend(const AttendArgs& args) override {
    const bool tiles = MayShareTiles(args);
    const AttendSpace space = SpaceFor(args, tiles);
    if (tiles) {
      // The layers of a pass that read the same keys share a plan.
      if (!args.same_lists || planned_rows_ != args.rows.capacity) PlanTiles(*device_, args, space);
      planned_rows_ = args.rows.capacity;
      AttendTiles(*device_, args, space);
    }
    AttendRows(*device_, args, space);
    Done();
  }
  void DecideExits(const DecideExitsArgs& args) override {
    cuda::DecideExits(*device_, args);
    Done();
  }
  void ResolveExits(const ResolveExitsArgs& args) override {
    cuda::ResolveExits(*device_, args);
    Done();
  }
  void PickRows(const PickRowsArgs& args) override {
    cuda::PickRows(*device_, args);
    Done();
  }
  void CollectFills(const CollectFillsArgs& args) override {
    cuda::CollectFills(*device_, args);
    Done();
  }
  void KeepExitStates(const KeepExitStatesArgs& args) override {
    cuda::KeepExitStates(*device_, args);
    Done();
  }
  void TopProbability(const TopProbabilityArgs& args) override {
    cuda::TopProbability(*device_, args, CandidateSpaceFor(args.rows, args.logits, 0));
    Done();
  }
  void Candidates(const CandidatesArgs& args) override {
    cuda::Candidates(*device_, args, CandidateSpaceFor(args.rows, args.logits, args.width));
    Done();
  }
  void Align(const AlignArgs& args) override {
    cuda::Align(*device_, args);
    Done();
  }

  bool can_step_ahead() const override { return true; }
  void MergeNewRows(const MergeNewRowsArgs& args) override {
    cuda::MergeNewRows(*device_, args);
    Done();
  }
  void Advance(const AdvanceArgs& args) override {
    cuda::Advance(*device_, args);
    Done();
  }

  // The first run under a key is a plain one, in which whatever has to be allocated is; the second is captured.
  void Replay(uint64_t key, const std::function<void()>& body) override {
    if (host_visible_) return body();
    const auto [at, first] = graphs_.try_emplace(key);
    if (first) return body();
    if (at->second == nullptr) {
      device_->BeginCapture();
      body();
      at->second = device_->EndCapture();
    }
    if (at->second != nullptr) device_->Replay(*at->second);
  }

 private:
  // `gemms`: another queue's of the same device; null for the first.
  CudaBackend(std::unique_ptr<Device> device, ComputeType compute, bool host_visible,
              std::shared_ptr<GemmChoices> gemms)
      : device_(std::move(device)),
        compute_(compute),
        host_visible_(host_visible),
        memory_(*device_, host_visible),
        gemms_(gemms != nullptr ? std::move(gemms) : std::make_shared<GemmChoices>(*device_, memory_)),
        mass_table_(memory_, kMassSteps) {
    memory_.CopyToDevice(mass_table_.data(), MassTable().data(), kMassSteps * sizeof(uint32_t));
  }

  void Done() {
    if (host_visible_) device_->Synchronize();
  }

  // Whether there may be rows of a document that are computed together.
  static bool MayShareTiles(const AttendArgs& args) {
    return !args.few_a_document && args.rows.capacity >= 32 && TilesTake(args.store.layout, args.heads);
  }

  // How far one position turns each of `half` components, in turns of the circle.
  const double* Turns(int32_t half, double base) {
    DeviceArray<double>& made = turns_[{half, base}];
    if (made.empty()) {
      std::vector<double> turns(half);
      for (int32_t c = 0; c < half; ++c) {
        turns[c] = std::pow(base, -static_cast<double>(c) / half) / (2 * M_PI);
      }
      made = OnDevice(memory_, turns);
    }
    return made.data();
  }

  // An array of at least `bytes`. One that has become too small stays, because captured graphs know it; each is at
  // least twice as large as the one before.
  std::byte* Space(std::vector<DeviceArray<std::byte>>& spaces, size_t bytes) {
    if (spaces.empty() || spaces.back().size() < bytes) spaces.emplace_back(memory_, std::bit_ceil(bytes));
    return spaces.back().data();
  }

  AttendSpace SpaceFor(const AttendArgs& args, bool tiles) {
    AttendSpace space;
    space.rows = kPartialRows;
    const int32_t width = args.store.layout.width;
    space.partial = reinterpret_cast<float*>(Space(partial_, PartialBytes(kPartialRows, width)));
    space.done = reinterpret_cast<int32_t*>(Space(done_, kPartialRows * sizeof(int32_t)));
    if (!tiles) return space;
    space.plan_rows = args.rows.capacity;
    space.plan = reinterpret_cast<TilePlan*>(Space(plan_, PlanBytes(args.rows.capacity)));
    return space;
  }

  CandidateSpace CandidateSpaceFor(const Rows& rows, const Logits& logits, int32_t width) {
    CandidateSpace space;
    space.done = reinterpret_cast<int32_t*>(Space(candidates_done_, rows.capacity * sizeof(int32_t)));
    space.parts = Space(candidates_, CandidatePartBytes(rows.capacity, logits, width));
    return space;
  }

  const std::unique_ptr<Device> device_;
  const ComputeType compute_;
  const bool host_visible_;
  CudaMemory memory_;
  const std::shared_ptr<GemmChoices> gemms_;  // the first queue's
  DeviceArray<uint32_t> mass_table_;
  std::map<std::pair<int32_t, double>, DeviceArray<double>> turns_;
  std::vector<DeviceArray<std::byte>> partial_, done_, plan_, linear_, workspace_, candidates_, candidates_done_;
  int32_t planned_rows_ = 0;  // of the plan in plan_
  std::map<uint64_t, std::unique_ptr<Graph>> graphs_;
};

}  // namespace

std::string GemmReport(const Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  return cuda != nullptr ? cuda->GemmReport() : "";
}

bool CopyOnDevice(Backend& backend, void* to, const void* from, size_t bytes) {
  auto* cuda = dynamic_cast<CudaBackend*>(&backend);
  if (cuda != nullptr) cuda->CopyOnDevice(to, from, bytes);
  return cuda != nullptr;
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackendOn(std::unique_ptr<Device> device, const CudaOptions& options) {
  const ComputeType compute = options.compute == ComputeType::kAuto ? ComputeType::kBF16 : options.compute;
  return std::make_unique<CudaBackend>(std::move(device), compute, options.host_visible);
}

}  // namespace salient::cuda

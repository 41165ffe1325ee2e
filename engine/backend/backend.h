// The interface of a device: its memory and a small table of operations.
//
// Models (engine/model, engine/decode) are sequences of these calls. They pass pointers to device memory and read
// through them only if host_addressable() is true. Data-dependent values, such as which rows are active and which keys
// were chosen, stay on the device and go from operation to operation. Each operation's contract is in its own header,
// beside its plain reference.
//
// Operations run in the order of the calls. A device that works asynchronously may offer a second queue, a Backend of
// its own, so that encoding and decoding overlap. A backend is used by one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "engine/attention/attend.h"
#include "engine/attention/project.h"
#include "engine/attention/select.h"
#include "engine/core/element_type.h"
#include "engine/core/memory.h"
#include "engine/depth/exit.h"
#include "engine/depth/fill.h"
#include "engine/linear/linear.h"
#include "engine/norm/norm.h"
#include "engine/recurrence/ssru.h"
#include "engine/search/advance.h"
#include "engine/search/align.h"
#include "engine/search/candidates.h"

namespace salient {

class Backend {
 public:
  virtual ~Backend() = default;

  // A description such as "reference" or "cpu int8 (amx)".
  virtual std::string Name() const = 0;
  virtual DeviceMemory& memory() = 0;
  bool host_addressable() { return memory().host_addressable(); }
  // The number format of stored K and V.
  virtual ElementType kv_type() const = 0;

  virtual std::unique_ptr<PackedLinear> Pack(const LinearWeights& weights) = 0;
  // A layer with some of the outputs of a packed layer, in the given order, with identical results. Null if the backend
  // does not support it; then the caller computes the whole layer.
  virtual std::unique_ptr<PackedLinear> PickOutputs(const PackedLinear&, std::span<const int32_t>) { return nullptr; }

  virtual void Embed(const EmbedArgs& args) = 0;
  virtual void LayerNorm(const LayerNormArgs& args) = 0;
  virtual void GatherRows(const GatherRowsArgs& args) { salient::GatherRows(args); }
  virtual void MeanRows(const MeanRowsArgs& args) { salient::MeanRows(args); }
  virtual void Linear(const LinearArgs& args) = 0;
  virtual void Rotate(const RotateArgs& args) = 0;
  virtual void Ssru(const SsruArgs& args) = 0;
  virtual void AppendKeyValue(const AppendKeyValueArgs& args) = 0;
  virtual void AppendSelection(const AppendSelectionArgs& args) = 0;
  // The norm, the products, rotations and appends of a block's beginning (project.h); identical to its parts.
  virtual void Project(const ProjectArgs& args);
  // A feed-forward block: Project of one projection without a place to store it, and then Linear of its output, which
  // is scratch memory here; `down` takes as many rows. Identical to its parts.
  virtual void FeedForward(const ProjectArgs& up, const LinearArgs& down) {
    Project(up);
    Linear(down);
  }
  virtual void Select(const SelectArgs& args) = 0;
  virtual void Attend(const AttendArgs& args) = 0;
  virtual void DecideExits(const DecideExitsArgs& args) { salient::DecideExits(args); }
  virtual void ResolveExits(const ResolveExitsArgs& args) { salient::ResolveExits(args); }
  virtual void PickRows(const PickRowsArgs& args) { salient::PickRows(args); }
  virtual void CollectFills(const CollectFillsArgs& args) { salient::CollectFills(args); }
  virtual void KeepExitStates(const KeepExitStatesArgs& args) { salient::KeepExitStates(args); }
  virtual void TopProbability(const TopProbabilityArgs& args) = 0;
  virtual void Candidates(const CandidatesArgs& args) = 0;
  virtual void Align(const AlignArgs& args) { salient::Align(args); }
  // Whether steps should be launched ahead in groups (Decoder::StepAhead), because the host would otherwise wait for
  // the end of each step.
  virtual bool can_step_ahead() const { return false; }
  virtual void MergeNewRows(const MergeNewRowsArgs& args) { salient::MergeNewRows(args); }
  virtual void Advance(const AdvanceArgs& args) { salient::Advance(args); }

  // Runs `body`, which only calls operations; or replays the operations that it issued when it last ran for this key.
  // Precondition: for a given key, `body` always issues identical calls. What differs from run to run must be in device
  // memory.
  virtual void Replay(uint64_t key, const std::function<void()>& body) {
    (void)key;
    body();
  }
  // Another queue of the same device. This backend must outlive it. The two share packed layers and memory contents;
  // each has its own scratch memory, allocations and order of operations. Null if operations are complete when they
  // return.
  virtual std::unique_ptr<Backend> OpenQueue() { return nullptr; }
  // Operations issued to this queue from now on start after all operations issued so far to `other`, a queue of the
  // same device, are complete.
  virtual void After(Backend& other) { (void)other; }
  // While set, the operations of this queue leave a part of the device to the device's other queues, whose operations
  // then need not wait for room. The results are the same.
  virtual void LeaveRoom(bool leave) { (void)leave; }
  // Not OK once the device has failed. Results computed since then are invalid, and later operations do nothing.
  virtual absl::Status status() const { return absl::OkStatus(); }

  template <typename T>
  DeviceArray<T> Array(size_t size) {
    return DeviceArray<T>(memory(), size);
  }
};

// Simple scalar code in fp32, the reference of all tests.
std::unique_ptr<Backend> MakeReferenceBackend();

struct CpuOptions {
  int threads = 0;  // 0: one for each core that this process may use
  ComputeType compute = ComputeType::kAuto;
};
std::unique_ptr<Backend> MakeCpuBackend(const CpuOptions& options);

struct CudaOptions {
  ComputeType compute = ComputeType::kAuto;  // kAuto: bf16; kInt8 reads half the bytes; kF32 for comparing
  // For tests of operations: the host may read and write all memory of the backend, and operations are complete when
  // they return.
  bool host_visible = false;
};
// UNAVAILABLE if there is no usable GPU or the build has no CUDA; names the reason.
absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const CudaOptions& options);

}  // namespace salient

// The answers to a platform's probes: whether the process is alive, and whether it accepts documents.
//
// alive   unless an engine is dead, or has work but its step loop has made no iteration for `stall_limit`; then only a
//           restart helps
// ready   once every model has been tried, while at least one can be used (in memory, or dropped from it and loaded on
//         request) and all engines in memory are healthy; not while an engine recovers or the server drains. A model
//         that is loaded or fails later changes nothing for the others
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/models/model_registry.h"

namespace salient {

// kLeaving: documents are still accepted, but clients should send no more.
enum class Readiness { kLoading, kServing, kLeaving, kDraining };

class Health {
 public:
  // The models must outlive it.
  Health(const ModelRegistry& models, absl::Duration stall_limit) : models_(models), stall_limit_(stall_limit) {}

  void Set(Readiness readiness) { readiness_ = readiness; }
  Readiness readiness() const { return readiness_; }

  bool HasDeadEngine() const;
  // Whether documents for this model are translated.
  static bool Usable(const ModelSlot& slot);

  // UNAVAILABLE has the reason.
  absl::Status Alive() const;
  absl::Status Ready() const;
  // Whether HTTP calls are accepted; OK also in kLeaving. The engines themselves refuse documents.
  absl::Status TakesDocuments() const;

 private:
  const ModelRegistry& models_;
  const absl::Duration stall_limit_;
  std::atomic<Readiness> readiness_ = Readiness::kLoading;
};

}  // namespace salient

// What a platform's probes are told: whether the process should live, and whether it takes documents.
//
//   alive   unless an engine is dead, or has work and its step loop has not turned for `stall_limit`: then only a new
//           process helps
//   ready   while it serves and every engine is healthy; not while models load, an engine recovers, or the server
//   drains
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/model_registry.h"

namespace salient {

// kLeaving: documents are still taken, but nobody should send more.
enum class Readiness { kLoading, kServing, kLeaving, kDraining };

class Health {
 public:
  // The models outlive it; until kServing they are not looked at.
  Health(const ModelRegistry& models, absl::Duration stall_limit) : models_(models), stall_limit_(stall_limit) {}

  void Set(Readiness readiness) { readiness_ = readiness; }
  Readiness readiness() const { return readiness_; }

  bool HasDeadEngine() const;

  // UNAVAILABLE says why not.
  absl::Status Alive() const;
  absl::Status Ready() const;
  // OK also while the server leaves: what HTTP calls are held against. Engines refuse for themselves.
  absl::Status TakesDocuments() const;

 private:
  const ModelRegistry& models_;
  const absl::Duration stall_limit_;
  std::atomic<Readiness> readiness_ = Readiness::kLoading;
};

}  // namespace salient

// What a platform's probes are told of the server as a whole.

#pragma once

#include "absl/status/status.h"

namespace salient {

// kLeaving: documents are still taken, but nobody should send more.
enum class Readiness { kLoading, kServing, kLeaving, kDraining };

inline bool TakesDocuments(Readiness readiness) {
  return readiness == Readiness::kServing || readiness == Readiness::kLeaving;
}

// What /readyz says: OK for kServing, else UNAVAILABLE.
inline absl::Status CheckReady(Readiness readiness) {
  if (readiness == Readiness::kServing) return absl::OkStatus();
  return absl::UnavailableError(readiness == Readiness::kLoading ? "the server is still loading its models"
                                                                 : "the server is shutting down");
}

}  // namespace salient

// What a platform's probes are told of the server as a whole.

#pragma once

#include "absl/status/status.h"

namespace salient {

enum class Readiness { kLoading, kServing, kDraining };

// OK for kServing, else UNAVAILABLE.
inline absl::Status CheckReady(Readiness readiness) {
  if (readiness == Readiness::kServing) return absl::OkStatus();
  return absl::UnavailableError(readiness == Readiness::kLoading ? "the server is still loading its models"
                                                                 : "the server is shutting down");
}

}  // namespace salient

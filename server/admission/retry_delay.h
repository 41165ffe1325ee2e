// The retry delay of a status: the time after which a retry can succeed. It is sent as google.rpc.RetryInfo and
// grpc-retry-pushback-ms, or as Retry-After.

#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace salient {

void SetRetryDelay(absl::Status& status, absl::Duration delay);
std::optional<absl::Duration> GetRetryDelay(const absl::Status& status);

}  // namespace salient

// The retry delay of a status: the time after which a retry can succeed. It is sent as google.rpc.RetryInfo and
// grpc-retry-pushback-ms, or as Retry-After.

#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace salient {

void SetRetryDelay(absl::Status& status, absl::Duration delay);
std::optional<absl::Duration> GetRetryDelay(const absl::Status& status);

// The value of HTTP's Retry-After: whole seconds, rounded up. None where the status has no delay.
std::optional<std::string> RetryAfter(const absl::Status& status);

}  // namespace salient

// google.rpc.RetryInfo in the details of a gRPC status: the server writes the delay before a retry, the client reads
// it.

#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace salient {

// A status with this code and message, and one RetryInfo in its details.
grpc::Status StatusWithRetry(grpc::StatusCode code, const std::string& message, absl::Duration delay);

// The retry delay of a status; nullopt if its details have no RetryInfo or cannot be parsed.
std::optional<absl::Duration> RetryDelay(const grpc::Status& status);

}  // namespace salient

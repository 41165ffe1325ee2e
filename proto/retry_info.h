// google.rpc.RetryInfo in the details of a gRPC status: the server says when to try again, a client reads it.

#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace salient {

// A status of this code and message whose details hold one RetryInfo.
grpc::Status StatusWithRetry(grpc::StatusCode code, const std::string& message, absl::Duration delay);

// The delay that a status asks for; nothing if its details hold no RetryInfo or cannot be read.
std::optional<absl::Duration> RetryDelay(const grpc::Status& status);

}  // namespace salient

// absl::Status, in which the engine speaks, as a gRPC status and as an HTTP status.

#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace salient {

// Notes in a status after what time another try is worthwhile. Goes out as google.rpc.RetryInfo, or as Retry-After.
void SetRetryDelay(absl::Status& status, absl::Duration delay);
std::optional<absl::Duration> GetRetryDelay(const absl::Status& status);

// The codes of absl are those of gRPC.
grpc::Status ToGrpc(const absl::Status& status);

// As google.rpc.Code documents its mapping to HTTP.
int ToHttp(absl::StatusCode code);

}  // namespace salient

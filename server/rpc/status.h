// Converts absl::Status, which the engine uses, to the statuses of gRPC (of HTTP: http/status_code.h).

#pragma once

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "server/admission/retry_delay.h"

namespace salient {

// The codes of absl and gRPC have the same numbers.
grpc::Status ToGrpc(const absl::Status& status);

// If the status has a retry delay, adds it for gRPC's own retries. Call it before the call is finished.
void AddPushback(const absl::Status& status, grpc::CallbackServerContext& context);

}  // namespace salient

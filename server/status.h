// absl::Status, in which the engine speaks, as a gRPC status and as an HTTP status.

#pragma once

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "server/admission/retry_delay.h"

namespace salient {

// The codes of absl are those of gRPC.
grpc::Status ToGrpc(const absl::Status& status);

// Where the status says after what time to try again, tells gRPC's own retries, too. Before the call is finished.
void AddPushback(const absl::Status& status, grpc::CallbackServerContext& context);

}  // namespace salient

// Identification of a call: its client, its request id, its trace.

#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "server/access/access.h"
#include "server/admission/client.h"
#include "server/http/message.h"

namespace salient {

// UNAUTHENTICATED as documented at Access::Identify. `call` is always filled in; without a known client it has the
// client's address.
absl::Status ReadCallInfo(const Access& access, const grpc::CallbackServerContext& context, CallInfo* call);
absl::Status ReadCallInfo(const Access& access, const HttpRequest& request, CallInfo* call);

// The id of the call's header if it has 1 to 128 letters, digits and . _ : / + = -; otherwise a new one.
std::string RequestId(std::string_view brought);

// The value if it is a W3C traceparent ("00-32 hex-16 hex-2 hex"), otherwise empty.
std::string TraceParent(std::string_view brought);

// The address of a gRPC peer: "127.0.0.1" for "ipv4:127.0.0.1:3456".
std::string AddressOf(const std::string& peer);

}  // namespace salient

// What tells a call apart: its client, its request id, its trace.

#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "server/access.h"
#include "server/admission/client.h"
#include "server/http/message.h"

namespace salient {

// UNAUTHENTICATED as Access::Identify says. `call` is filled in all the same; its client is then the address.
absl::Status ReadCallInfo(const Access& access, const grpc::CallbackServerContext& context, CallInfo* call);
absl::Status ReadCallInfo(const Access& access, const HttpRequest& request, CallInfo* call);

// The id that a call brought, if it is one of 1 to 128 letters, digits and . _ : / + = -, else a new one.
std::string RequestId(std::string_view brought);

// The value if it is a W3C traceparent ("00-32 hex-16 hex-2 hex"), else nothing.
std::string TraceParent(std::string_view brought);

// "127.0.0.1" of gRPC's "ipv4:127.0.0.1:3456".
std::string AddressOf(const std::string& peer);

}  // namespace salient

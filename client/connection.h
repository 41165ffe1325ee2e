// Connects to a server, and explains its failures.

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/flags.h"
#include "grpcpp/support/status.h"
#include "salient/v1/translation.grpc.pb.h"

namespace salient {

// Waits a few seconds for the server to answer. UNAVAILABLE says how to start one; INVALID_ARGUMENT names a file that
// cannot be read. Every call over the connection has the API key. With kNever the client does not retry calls that the
// server refuses.
enum class Retries { kAsRefusalsSay, kNever };
absl::StatusOr<std::unique_ptr<v1::Translation::Stub>> Connect(const ConnectionFlags& flags,
                                                               Retries retries = Retries::kAsRefusalsSay);

// The failure of a call to `server`, as a message for the user.
absl::Status Explain(const grpc::Status& status, const std::string& server);

}  // namespace salient

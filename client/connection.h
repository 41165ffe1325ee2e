// A connection to a server, and what its failures mean to a person.

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/flags.h"
#include "grpcpp/support/status.h"
#include "salient/v1/translation.grpc.pb.h"

namespace salient {

// Waits a few seconds for the server to answer. UNAVAILABLE says how to start one; INVALID_ARGUMENT names a file that
// cannot be read. Every call over the connection shows the API key. With kNever what the server refuses is not tried
// again.
enum class Retries { kAsRefusalsSay, kNever };
absl::StatusOr<std::unique_ptr<v1::Translation::Stub>> Connect(const ConnectionFlags& flags,
                                                               Retries retries = Retries::kAsRefusalsSay);

// The failure of a call to `server` in words for the person at the terminal.
absl::Status Explain(const grpc::Status& status, const std::string& server);

}  // namespace salient

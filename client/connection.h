// A connection to a server, and what its failures mean to a person.

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/support/status.h"
#include "salient/v1/translation.grpc.pb.h"

namespace salient {

// Waits a few seconds for the server to answer. UNAVAILABLE says how to start one.
absl::StatusOr<std::unique_ptr<v1::Translation::Stub>> Connect(const std::string& server);

// The failure of a call to `server` in words for the person at the terminal.
absl::Status Explain(const grpc::Status& status, const std::string& server);

}  // namespace salient

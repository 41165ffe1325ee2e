// The message of a status, for all transports.

#pragma once

#include <string>

#include "absl/status/status.h"

namespace salient {

// What a client is told. A message may repeat what the client has sent, so it is cut after 2,000 bytes: gRPC's clients
// take 8 KiB of trailers and report a longer one as another error, and no error shall take much memory.
std::string MessageOf(const absl::Status& status);

}  // namespace salient

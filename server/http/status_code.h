// The codes of absl, which are those of gRPC, as HTTP's; and the message of an error.

#pragma once

#include <string>

#include "absl/status/status.h"

namespace salient {

// As google.rpc.Code documents its mapping to HTTP.
int ToHttp(absl::StatusCode code);

// What a client is told. A message may repeat what the client has sent, so it is cut after 2,000 bytes: gRPC's clients
// take 8 KiB of trailers and report a longer one as another error, and no error shall take much memory.
std::string MessageOf(const absl::Status& status);

}  // namespace salient

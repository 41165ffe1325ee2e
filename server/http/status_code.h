// The codes of absl, which are those of gRPC, as HTTP's.

#pragma once

#include "absl/status/status.h"

namespace salient {

// As google.rpc.Code documents its mapping to HTTP.
int ToHttp(absl::StatusCode code);

}  // namespace salient

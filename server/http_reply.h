// Values as HTTP responses, in the one form that all of the server's HTTP has.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "server/http/message.h"

namespace salient {

// {"error": {"code", "status", "message"}} under the HTTP status that google.rpc.Code documents, with Retry-After where
// the status carries a delay.
HttpResponse ErrorReply(const absl::Status& status);

// The message as JSON, field names as in the .proto, defaults told.
HttpResponse MessageReply(const google::protobuf::Message& message);

// What a probe is told: the text, or 503 and why.
HttpResponse Probe(const absl::Status& status, const std::string& text);

// What a listener refuses by itself: as a status, and as a response under the HTTP status that it gives.
absl::Status TransportError(int status, const std::string& message);
HttpResponse TransportErrorReply(int status, const std::string& message);

}  // namespace salient

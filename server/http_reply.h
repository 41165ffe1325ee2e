// Builds HTTP responses in the common form of all HTTP of the server.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "server/http/message.h"

namespace salient {

// {"error": {"code", "status", "message"}} with the HTTP status that google.rpc.Code documents, and Retry-After if the
// status has a retry delay.
HttpResponse ErrorReply(const absl::Status& status);

// The message as JSON, with the field names of the .proto and with default values.
HttpResponse MessageReply(const google::protobuf::Message& message);

// The reply to a probe: the text, or 503 and the reason.
HttpResponse Probe(const absl::Status& status, const std::string& text);

// What a listener refuses by itself: as a status, and as a reply with the listener's HTTP status.
absl::Status TransportError(int status, const std::string& message);
HttpResponse TransportErrorReply(int status, const std::string& message);

}  // namespace salient

// What replies of all the compatible APIs share.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "server/admission/admission.h"
#include "server/compat/host.h"
#include "server/http/message.h"

namespace salient {

// The value as JSON; what is not UTF-8 in it is replaced.
HttpResponse JsonReply(const nlohmann::json& value, int status = 200);

// An error in a service's own shape, under the HTTP status of its code but for `unauthenticated`, which is the
// service's, with Retry-After where the status has a delay.
HttpResponse JsonError(const nlohmann::json& value, const absl::Status& status, int unauthenticated);

// Tells the client that fields of its request were ignored: Warning: 299 salient "formality: ignored".
void WarnIgnored(const std::string& fields, HttpResponse* response);

// Until the client has read the response, or is gone, its body counts as the client's, and what the permit has as well.
// `permit` may be null.
void CountUntilRead(std::unique_ptr<Admission::Permit> permit, HttpResponse* response);

// The bytes as a file, which count as the client's until it has read them. RESOURCE_EXHAUSTED, with a retry delay, if
// there is no room for them.
absl::StatusOr<HttpResponse> FileReply(CompatHost& host, const CallInfo& call, std::string content_type,
                                       std::string_view bytes);

// The text for use inside a quoted header value: quotation marks, line breaks and the like are replaced by "_".
std::string HeaderSafe(const std::string& text);

// The text for use inside the path of a URL.
std::string UrlSafe(std::string_view text);

}  // namespace salient

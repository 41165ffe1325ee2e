#include "server/http_reply.h"

#include <utility>

#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "server/admission/retry_delay.h"
#include "server/admission/status_message.h"
#include "server/http/status_code.h"

namespace salient {

HttpResponse ErrorReply(const absl::Status& status) {
  const nlohmann::json body = {{"error",
                                {{"code", static_cast<int>(status.code())},
                                 {"status", absl::StatusCodeToString(status.code())},
                                 {"message", MessageOf(status)}}}};
  HttpResponse response{.status = ToHttp(status.code()), .content_type = "application/json"};
  response.body = body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (const auto seconds = RetryAfter(status)) response.headers.emplace("Retry-After", *seconds);
  if (absl::IsUnauthenticated(status)) response.headers.emplace("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse MessageReply(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  HttpResponse response{.content_type = "application/json"};
  const auto status = google::protobuf::util::MessageToJsonString(message, &response.body, options);
  if (!status.ok()) return ErrorReply(absl::InternalError(status.ToString()));
  return response;
}

HttpResponse Probe(const absl::Status& status, const std::string& text) {
  return status.ok() ? HttpResponse{.body = text} : ErrorReply(status);
}

absl::Status TransportError(int status, const std::string& message) {
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  if (status == 415 || status == 501) code = absl::StatusCode::kUnimplemented;
  if (status == 500) code = absl::StatusCode::kInternal;
  if (status == 503) code = absl::StatusCode::kUnavailable;
  absl::Status error(code, status == 413 ? message + " (--max-document-bytes); send the document in parts" : message);
  if (status == 503) SetRetryDelay(error, absl::Seconds(1));
  return error;
}

HttpResponse TransportErrorReply(int status, const std::string& message) {
  HttpResponse response = ErrorReply(TransportError(status, message));
  response.status = status;
  return response;
}

}  // namespace salient

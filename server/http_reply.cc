#include "server/http_reply.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "server/status.h"

namespace salient {

HttpResponse ErrorReply(const absl::Status& status) {
  const nlohmann::json body = {{"error",
                                {{"code", static_cast<int>(status.code())},
                                 {"status", absl::StatusCodeToString(status.code())},
                                 {"message", std::string(status.message())}}}};
  HttpResponse response{.status = ToHttp(status.code()), .content_type = "application/json"};
  response.body = body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (const auto delay = GetRetryDelay(status)) {
    const auto seconds = static_cast<int64_t>(std::ceil(absl::ToDoubleSeconds(*delay)));
    response.headers.emplace("Retry-After", std::to_string(seconds));
  }
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

absl::StatusCode TransportErrorCode(int status) {
  if (status == 415) return absl::StatusCode::kUnimplemented;
  return status == 503 ? absl::StatusCode::kUnavailable : absl::StatusCode::kInvalidArgument;
}

HttpResponse TransportErrorReply(int status, const std::string& message) {
  std::string text = message;
  if (status == 413) text += " (--max-document-bytes); send the document in parts";
  HttpResponse response = ErrorReply(absl::Status(TransportErrorCode(status), text));
  response.status = status;
  if (status == 503) response.headers.emplace("Retry-After", "1");
  return response;
}

}  // namespace salient

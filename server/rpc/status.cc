#include "server/rpc/status.h"

#include <string>

#include "proto/retry_info.h"
#include "server/admission/status_message.h"

namespace salient {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string message = MessageOf(status);
  const auto delay = GetRetryDelay(status);
  return delay.has_value() ? StatusWithRetry(code, message, *delay) : grpc::Status(code, message);
}

void AddPushback(const absl::Status& status, grpc::CallbackServerContext& context) {
  const auto delay = GetRetryDelay(status);
  if (!delay.has_value()) return;
  context.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(absl::ToInt64Milliseconds(*delay)));
}

}  // namespace salient

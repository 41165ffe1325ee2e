#include "proto/retry_info.h"

#include <cstdint>

#include "google/rpc/status.pb.h"

namespace salient {

grpc::Status StatusWithRetry(grpc::StatusCode code, const std::string& message, absl::Duration delay) {
  google::rpc::RetryInfo retry;
  const int64_t seconds = absl::IDivDuration(delay, absl::Seconds(1), &delay);
  retry.mutable_retry_delay()->set_seconds(seconds);
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(delay)));

  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  details.add_details()->PackFrom(retry);
  return grpc::Status(code, message, details.SerializeAsString());
}

std::optional<absl::Duration> RetryDelay(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  for (const google::protobuf::Any& any : details.details()) {
    google::rpc::RetryInfo retry;
    if (any.Is<google::rpc::RetryInfo>() && any.UnpackTo(&retry)) {
      return absl::Seconds(retry.retry_delay().seconds()) + absl::Nanoseconds(retry.retry_delay().nanos());
    }
  }
  return std::nullopt;
}

}  // namespace salient

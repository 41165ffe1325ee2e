#include "server/admission/retry_delay.h"

#include <cstdint>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace salient {
namespace {

constexpr char kRetryDelay[] = "salient/retry-delay-milliseconds";

}  // namespace

void SetRetryDelay(absl::Status& status, absl::Duration delay) {
  status.SetPayload(kRetryDelay, absl::Cord(absl::StrCat(absl::ToInt64Milliseconds(delay))));
}

std::optional<absl::Duration> GetRetryDelay(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryDelay);
  int64_t milliseconds = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &milliseconds)) return std::nullopt;
  return absl::Milliseconds(milliseconds);
}

std::optional<std::string> RetryAfter(const absl::Status& status) {
  const auto delay = GetRetryDelay(status);
  if (!delay.has_value()) return std::nullopt;
  return absl::StrCat(absl::ToInt64Seconds(absl::Ceil(*delay, absl::Seconds(1))));
}

}  // namespace salient

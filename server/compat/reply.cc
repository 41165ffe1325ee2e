#include "server/compat/reply.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/admission/retry_delay.h"
#include "server/http/status_code.h"

namespace salient {

HttpResponse JsonReply(const nlohmann::json& value, int status) {
  return {.status = status,
          .content_type = "application/json",
          .body = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

HttpResponse JsonError(const nlohmann::json& value, const absl::Status& status, int unauthenticated) {
  HttpResponse response = JsonReply(value, absl::IsUnauthenticated(status) ? unauthenticated : ToHttp(status.code()));
  if (const auto seconds = RetryAfter(status)) response.headers.emplace("Retry-After", *seconds);
  return response;
}

void WarnIgnored(const std::string& fields, HttpResponse* response) {
  if (!fields.empty()) response->headers["Warning"] = absl::StrCat("299 salient \"", HeaderSafe(fields), ": ignored\"");
}

void CountUntilRead(std::unique_ptr<Admission::Permit> permit, HttpResponse* response) {
  if (permit == nullptr) return;
  permit->Grow(static_cast<int64_t>(response->body.size()));
  response->keep = std::move(permit);
}

absl::StatusOr<HttpResponse> FileReply(CompatHost& host, const CallInfo& call, std::string content_type,
                                       std::string_view bytes) {
  auto held = host.Hold(static_cast<int64_t>(bytes.size()), call);
  if (!held.ok()) return held.status();
  return HttpResponse{.content_type = std::move(content_type),
                      .body = std::string(bytes),
                      .keep = std::shared_ptr<void>(*std::move(held))};
}

std::string HeaderSafe(const std::string& text) {
  constexpr size_t kLongest = 1000;
  std::string safe = text.substr(0, kLongest);
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; }, '_');
  return safe;
}

std::string UrlSafe(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~') {
      safe += c;
    } else {
      safe += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return safe;
}

}  // namespace salient

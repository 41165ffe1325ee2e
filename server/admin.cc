#include "server/admin.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/http_reply.h"

namespace salient {

std::function<void()> Admin::Handle(HttpRequest request, Reply reply) {
  reply(Answer(request));
  return nullptr;
}

HttpResponse Admin::Error(int status, const std::string& message) { return TransportErrorReply(status, message); }

HttpResponse Admin::Answer(const HttpRequest& request) const {
  if (request.path == "/healthz") return {.body = "ok\n"};
  if (request.path == "/readyz") {
    const absl::Status ready = CheckReady(readiness_);
    return ready.ok() ? HttpResponse{.body = "ready\n"} : ErrorReply(ready);
  }
  if (request.path == "/metrics") {
    if (readiness_ != Readiness::kLoading) models_.UpdateGauges();
    return {.content_type = "text/plain; version=0.0.4", .body = metrics_.Text()};
  }
  return ErrorReply(absl::NotFoundError(
      absl::StrCat(request.method, " ", request.path, ": there is GET /metrics, /healthz and /readyz")));
}

}  // namespace salient

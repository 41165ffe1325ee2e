#include "server/admin.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/http_reply.h"

namespace salient {

std::function<void()> Admin::Handle(HttpRequest request, Reply reply) {
  reply(Answer(request));
  return nullptr;
}

HttpResponse Admin::Error(const HttpRequest&, int status, const std::string& message) {
  return TransportErrorReply(status, message);
}

HttpResponse Admin::Answer(const HttpRequest& request) const {
  if (request.path == "/healthz") return Probe(health_.Alive(), "ok\n");
  if (request.path == "/readyz") return Probe(health_.Ready(), "ready\n");
  if (request.path == "/metrics") {
    if (health_.readiness() != Readiness::kLoading) models_.UpdateGauges();
    return {.content_type = "text/plain; version=0.0.4", .body = metrics_.Text()};
  }
  return ErrorReply(absl::NotFoundError(
      absl::StrCat(request.method, " ", request.path, ": there is GET /metrics, /healthz and /readyz")));
}

}  // namespace salient

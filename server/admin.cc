#include "server/admin.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
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
    models_.UpdateGauges();
    return {.content_type = "text/plain; version=0.0.4", .body = metrics_.Text()};
  }
  if (request.path == "/models") return {.content_type = "application/json", .body = Models()};
  if (request.path == "/models/reload" && request.method == "POST") {
    if (const absl::Status status = loader_.Reload(); !status.ok()) return ErrorReply(status);
    return {.status = 202, .body = "looking at the models again; GET /models has their states\n"};
  }
  return ErrorReply(absl::NotFoundError(absl::StrCat(
      request.method, " ", request.path,
      ": there is GET /metrics, /healthz, /readyz and /models, and POST /models/reload")));
}

std::string Admin::Models() const {
  nlohmann::json models = nlohmann::json::array();
  for (const auto& slot : models_.models()) {
    const v1::Model model = slot->description();
    nlohmann::json told = {{"name", model.name()},
                           {"state", absl::AsciiStrToLower(v1::Model::State_Name(model.state()))},
                           {"folder", slot->options().model_folder},
                           {"documents_waiting_for_it", slot->waiting()}};
    if (const absl::Status failure = slot->failure(); !failure.ok()) told["failure"] = std::string(failure.message());
    models.push_back(std::move(told));
  }
  return nlohmann::json{{"models", std::move(models)}}.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace salient

// What the platform asks of a server, on a listener of its own: so that no translation and no client can starve it, and
// a network policy can keep it inside. Plain HTTP, without keys.
//
//   GET /healthz   200 as long as the process should live
//   GET /readyz    200 when documents are taken; 503 while models load and while the server drains
//   GET /metrics   Prometheus text

#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "server/http/message.h"
#include "server/metrics.h"
#include "server/model_registry.h"
#include "server/readiness.h"

namespace salient {

class Admin final : public HttpHandler {
 public:
  // All three outlive it. Until `readiness` is kServing, the models are not looked at.
  Admin(const ModelRegistry& models, const Metrics& metrics, const std::atomic<Readiness>& readiness)
      : models_(models), metrics_(metrics), readiness_(readiness) {}

  std::optional<HttpResponse> Refuse(const HttpRequest&) override { return std::nullopt; }
  std::function<void()> Handle(HttpRequest request, Reply reply) override;
  HttpResponse Error(int status, const std::string& message) override;

 private:
  HttpResponse Answer(const HttpRequest& request) const;

  const ModelRegistry& models_;
  const Metrics& metrics_;
  const std::atomic<Readiness>& readiness_;
};

}  // namespace salient

// Probes and metrics, on a listener of its own: so translations and clients cannot starve it, and a network policy can
// restrict it. Plain HTTP, without keys.
//
//   GET /healthz   200 unless the process should be restarted (server/health.h)
//   GET /readyz    200 when documents are accepted; 503 while models load, an engine recovers or the server drains
//   GET /metrics   Prometheus text

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "server/health.h"
#include "server/http/message.h"
#include "server/metrics.h"
#include "server/model_registry.h"

namespace salient {

class Admin final : public HttpHandler {
 public:
  // All three must outlive it.
  Admin(const ModelRegistry& models, const Metrics& metrics, const Health& health)
      : models_(models), metrics_(metrics), health_(health) {}

  std::optional<HttpResponse> Refuse(const HttpRequest&) override { return std::nullopt; }
  std::function<void()> Handle(HttpRequest request, Reply reply) override;
  HttpResponse Error(const HttpRequest& request, int status, const std::string& message) override;

 private:
  HttpResponse Answer(const HttpRequest& request) const;

  const ModelRegistry& models_;
  const Metrics& metrics_;
  const Health& health_;
};

}  // namespace salient

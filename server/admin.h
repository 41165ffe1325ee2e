// Probes, metrics and the state of models, on a listener of its own: so translations and clients cannot starve it, and
// a network policy can restrict it. Plain HTTP, without keys.
//
//   GET  /healthz         200 unless the process should be restarted (server/health.h)
//   GET  /readyz          200 when documents are accepted; 503 while models load, an engine recovers, the server drains
//   GET  /metrics         Prometheus text
//   GET  /models          the models, their states and why one could not be loaded, as JSON
//   POST /models/reload   looks at --models-dir again, soon: 202; what comes of it is told by /models. It takes no
//                         argument, so the worst that a caller can do without a key is to have the folder looked at

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "server/health.h"
#include "server/http/message.h"
#include "server/models/model_loader.h"
#include "server/models/model_registry.h"
#include "server/telemetry/metrics.h"

namespace salient {

class Admin final : public HttpHandler {
 public:
  // All four must outlive it.
  Admin(const ModelRegistry& models, ModelLoader& loader, const Metrics& metrics, const Health& health)
      : models_(models), loader_(loader), metrics_(metrics), health_(health) {}

  std::variant<Sender, HttpResponse> Admit(const HttpRequest& request) override {
    return Sender{.id = request.peer_address, .known = true};
  }
  std::function<void()> Handle(HttpRequest request, Reply reply) override;
  HttpResponse Error(const HttpRequest& request, int status, const std::string& message) override;

 private:
  HttpResponse Answer(const HttpRequest& request) const;
  std::string Models() const;

  const ModelRegistry& models_;
  ModelLoader& loader_;
  const Metrics& metrics_;
  const Health& health_;
};

}  // namespace salient

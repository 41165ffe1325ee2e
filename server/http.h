// The HTTP port: health and metrics for the platform, and the unary RPCs as JSON for those without a gRPC client.
//
//   GET  /healthz            200 as long as the process lives
//   GET  /readyz             200 when documents are taken; 503 while models load and while the server drains
//   GET  /metrics            Prometheus text
//   POST /v1/translate       TranslateDocumentRequest as JSON -> TranslateDocumentResponse; ?timeout_seconds=30
//   GET  /v1/models[/NAME]   ListModels, GetModel
//
// Field names are those of the .proto. An error is {"error": {"code", "status", "message"}} under the HTTP status that
// google.rpc.Code documents for it; 429 carries Retry-After.
//
// With a certificate (server/access.h) the port speaks HTTPS. The probes and metrics are open to everybody; all else
// asks for what the server asks for: an API key (401), a client's certificate (403).
//
// A translation occupies a thread until it is done; so that probes are always answered, only some of the threads may be
// occupied so, and more translations get 429. Who has many documents should use gRPC.

#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/access.h"
#include "server/metrics.h"
#include "server/translator.h"

namespace salient {

// kLeaving: documents are still taken, but nobody should send more.
enum class Readiness { kLoading, kServing, kLeaving, kDraining };

class HttpPort {
 public:
  // All four outlive the port. Until `readiness` is kServing, the models is not looked at.
  HttpPort(Translator& translator, const Metrics& metrics, const Access& access,
           const std::atomic<Readiness>& readiness, int64_t max_document_bytes);
  ~HttpPort();  // stops

  // Serves "host:port", any free port for 0, from threads of its own. Returns the port.
  absl::StatusOr<int> Start(const std::string& address);

  // Waits for requests under way.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace salient

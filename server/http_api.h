// The unary RPCs as JSON over HTTP, for clients without gRPC.
//
//   POST /v1/translate       TranslateDocumentRequest as JSON -> TranslateDocumentResponse; ?timeout_seconds=30
//   GET  /v1/models[/NAME]   ListModels, GetModel
//   GET  /                   a page about the server
//   GET  /healthz /readyz    as on the admin listener (server/admin.h), for load balancers in front of this port
//
// Field names are those of the .proto. An error is {"error": {"code", "status", "message"}} under the HTTP status that
// google.rpc.Code documents for it; 429 carries Retry-After.
//
// With a certificate (server/access.h) the port uses HTTPS. All paths except the two probes require the credentials of
// the server's settings, checked before the body is read: an API key (401), a client certificate (403).
//
// A translation blocks no thread while it runs. If the client disconnects, it is cancelled.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "server/access.h"
#include "server/health.h"
#include "server/http/message.h"
#include "server/translator.h"

namespace salient {

class HttpApi final : public HttpHandler {
 public:
  // All three must outlive it.
  HttpApi(Translator& translator, const Access& access, const Health& health)
      : translator_(translator), access_(access), health_(health) {}

  std::optional<HttpResponse> Refuse(const HttpRequest& request) override;
  std::function<void()> Handle(HttpRequest request, Reply reply) override;
  HttpResponse Error(int status, const std::string& message) override;

  // The size of the largest body for a document of at most `max_document_bytes`.
  static size_t MaxBodyBytes(int64_t max_document_bytes);

 private:
  HttpResponse Get(const HttpRequest& request) const;
  std::function<void()> Translate(const HttpRequest& request, Reply reply);

  Translator& translator_;
  const Access& access_;
  const Health& health_;
};

}  // namespace salient

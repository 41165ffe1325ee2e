// The unary RPCs as JSON over HTTP, for clients without gRPC.
//
//   POST /v1/translate       TranslateDocumentRequest as JSON -> TranslateDocumentResponse; ?timeout_seconds=30
//   GET  /v1/models[/NAME]   ListModels, GetModel
//   GET  /                   the tuning page (server/http_page.h)
//   GET  /healthz /readyz    as on the admin listener (server/admin.h), for load balancers in front of this port
//
// With --compat also the APIs of other services (server/compat), each with its own field names, keys and errors.
//
// Field names are those of the .proto. An error is {"error": {"code", "status", "message"}} under the HTTP status that
// google.rpc.Code documents for it; 429 carries Retry-After.
//
// With a certificate (server/access/access.h) the port uses HTTPS. All paths except the two probes require the
// credentials of the server's settings, checked before the body is read: an API key (401), except for the page, which
// asks for one; a client certificate (403).
//
// A translation blocks no thread while it runs. If the client disconnects, it is cancelled.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "server/access/access.h"
#include "server/compat/compat.h"
#include "server/compat_host.h"
#include "server/health.h"
#include "server/http/message.h"
#include "server/translation/translator.h"

namespace salient {

class HttpApi final : public HttpHandler {
 public:
  struct Options {
    bool compat = false;
    std::string glossary_uploads;  // with compat: the folder in which clients' glossaries are stored; empty: none
    int64_t max_document_bytes = 4 << 20;
  };

  // All three must outlive it.
  HttpApi(Translator& translator, const Access& access, const Health& health, const Options& options);

  std::variant<Sender, HttpResponse> Admit(const HttpRequest& request) override;
  std::function<void()> Handle(HttpRequest request, Reply reply) override;
  HttpResponse Error(const HttpRequest& request, int status, const std::string& message) override;

  // The size of the largest body for a document of at most `max_document_bytes`.
  static size_t MaxBodyBytes(int64_t max_document_bytes);

 private:
  // Who calls, as far as the header tells.
  struct Caller {
    CallInfo call;        // always filled in; the client is the address if it is not known
    bool known = false;   // whether the client is
    absl::Status status;  // UNAUTHENTICATED: the header should tell; OK although not known: the body may
  };

  // The service that the request is for; null: it is for this API.
  CompatService* CompatFor(const HttpRequest& request) const;
  Caller Identify(const HttpRequest& request, CompatService* compat) const;
  // Every reason to refuse before the body is read.
  absl::Status Check(const HttpRequest& request, CompatService* compat, const Caller& caller) const;
  HttpResponse Get(const HttpRequest& request) const;
  std::function<void()> Translate(const HttpRequest& request, const CallInfo& call, Reply reply);

  Translator& translator_;
  const Access& access_;
  const Health& health_;
  TranslatorHost compat_host_;
  std::unique_ptr<Compat> compat_;  // null without --compat
};

}  // namespace salient

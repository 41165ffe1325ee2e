#include "server/http_api.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/access/call_info.h"
#include "server/compat/reply.h"
#include "server/http_page.h"
#include "server/http_reply.h"
#include "server/request/wire.h"
#include "server/rpc/service.h"
#include "server/rpc/status.h"

namespace salient {
namespace {

// JSON writes a byte as up to six ("\u0001"), so a body may be that much longer than its document.
constexpr int64_t kJsonExpansion = 6;
constexpr char kModels[] = "/v1/models";

bool IsGet(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

bool IsOfPage(const HttpRequest& request) { return IsGet(request) && !request.has_body() && IsPage(request.path); }

bool IsProbe(const HttpRequest& request) { return request.path == "/healthz" || request.path == "/readyz"; }

absl::StatusOr<absl::Time> ReadDeadline(const HttpRequest& request) {
  const auto typed = request.query_value("timeout_seconds");
  if (!typed.has_value()) return absl::InfiniteFuture();
  double seconds = 0;
  if (!absl::SimpleAtod(*typed, &seconds) || !(seconds > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("timeout_seconds: '", *typed, "' is not a number above 0"));
  }
  return absl::Now() + absl::Seconds(seconds);
}

// A reply that says which call it is of.
HttpResponse Told(HttpResponse response, const CallInfo& call) {
  response.headers.emplace("X-Request-Id", call.request_id);
  if (!call.traceparent.empty()) response.headers.emplace("traceparent", call.traceparent);
  return response;
}

class HttpRecipient final : public Recipient {
 public:
  explicit HttpRecipient(HttpHandler::Reply reply) : reply_(std::move(reply)) {}
  void TakePermit(std::unique_ptr<Admission::Permit> permit) override { permit_ = std::move(permit); }
  void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) override {
    HttpResponse response = result.ok() ? MessageReply(*result) : ErrorReply(result.status());
    CountUntilRead(std::move(permit_), &response);
    reply_(std::move(response));
  }

 private:
  const HttpHandler::Reply reply_;
  std::unique_ptr<Admission::Permit> permit_;  // null: its document was never admitted
};

}  // namespace

size_t HttpApi::MaxBodyBytes(int64_t max_document_bytes) {
  return static_cast<size_t>(max_document_bytes * kJsonExpansion + (1 << 20));
}

HttpApi::HttpApi(Translator& translator, const Access& access, const Health& health, const Options& options)
    : translator_(translator), access_(access), health_(health), compat_host_(translator, access) {
  if (!options.compat) return;
  compat_ = std::make_unique<Compat>(compat_host_, Compat::Options{.max_document_bytes = options.max_document_bytes,
                                                                   .uploads_folder = options.glossary_uploads});
}

CompatService* HttpApi::CompatFor(const HttpRequest& request) const {
  return compat_ == nullptr ? nullptr : compat_->Find(request);
}

std::variant<HttpApi::Sender, HttpResponse> HttpApi::Admit(const HttpRequest& request) {
  const bool probe = IsProbe(request);
  if (probe && request.has_body()) {
    return ErrorReply(absl::InvalidArgumentError(absl::StrCat(request.path, ": takes no body; leave it out")));
  }
  CompatService* const compat = CompatFor(request);
  const Caller caller = Identify(request, compat);
  const absl::Status status = probe ? absl::OkStatus() : Check(request, compat, caller);
  if (status.ok()) return Sender{.id = caller.call.client.id(), .known = caller.known && !probe};
  if (!absl::IsUnavailable(status)) translator_.TellRefused(caller.call, Refusal::kUnauthenticated, status.code());
  return Told(compat == nullptr ? ErrorReply(status) : compat->Error(status), caller.call);
}

absl::Status HttpApi::Check(const HttpRequest& request, CompatService* compat, const Caller& caller) const {
  const bool download = compat != nullptr && compat->IsDownload(request) && health_.readiness() == Readiness::kDraining;
  if (absl::Status status = health_.TakesDocuments(); !status.ok() && !download) return status;
  if (access_.asks_for_certificate() && request.certificate_subject.empty()) {
    return absl::PermissionDeniedError("this server asks for a client certificate that --tls-client-ca has signed");
  }
  return IsOfPage(request) ? absl::OkStatus() : caller.status;
}

HttpApi::Caller HttpApi::Identify(const HttpRequest& request, CompatService* compat) const {
  Caller caller;
  caller.status = ReadCallInfo(access_, request, &caller.call);
  caller.known = caller.status.ok();
  if (compat == nullptr) return caller;
  auto admitted = compat->Admit(request);
  caller.status = admitted.status();
  caller.known = admitted.ok() && admitted->has_value();
  if (caller.known) caller.call.client = **std::move(admitted);
  return caller;
}

std::function<void()> HttpApi::Handle(HttpRequest request, Reply reply) {
  if (IsProbe(request)) {
    reply(Get(request));
    return nullptr;
  }
  CallInfo call;
  const absl::Status known = ReadCallInfo(access_, request, &call);
  reply = [reply = std::move(reply), call](HttpResponse response) { reply(Told(std::move(response), call)); };
  if (CompatService* const compat = CompatFor(request)) {
    request.headers["X-Request-Id"] = call.request_id;  // the service identifies the caller itself, under the same id
    return compat->Handle(request, reply);
  }
  if (!known.ok() && !IsOfPage(request)) {  // the key went while the body arrived
    reply(ErrorReply(known));
    return nullptr;
  }
  if (request.method == "POST" && request.path == "/v1/translate") return Translate(request, call, std::move(reply));
  reply(Get(request));
  return nullptr;
}

HttpResponse HttpApi::Error(const HttpRequest& request, int status, const std::string& message) {
  CompatService* const compat = CompatFor(request);
  const Caller caller = Identify(request, compat);
  const absl::Status error = TransportError(status, message);
  translator_.TellRefused(caller.call, caller.status.ok() ? Refusal::kTransport : Refusal::kUnauthenticated,
                          error.code());
  if (compat == nullptr) return Told(TransportErrorReply(status, message), caller.call);
  HttpResponse response = compat->Error(error);
  response.status = status;
  return Told(std::move(response), caller.call);
}

HttpResponse HttpApi::Get(const HttpRequest& request) const {
  const bool get = IsGet(request);
  if (get && request.path == "/healthz") return Probe(health_.Alive(), "ok\n");
  if (get && request.path == "/readyz") return Probe(health_.Ready(), "ready\n");
  const ModelRegistry& models = translator_.models();
  if (get && IsPage(request.path)) return PageReply(request.path);
  if (get && request.path == kModels) return MessageReply(ListModels(models));
  if (get && request.path.rfind(absl::StrCat(kModels, "/"), 0) == 0) {
    auto model = GetModel(models, request.path.substr(sizeof(kModels)));
    return model.ok() ? MessageReply(*model) : ErrorReply(model.status());
  }
  return ErrorReply(absl::NotFoundError(absl::StrCat(
      request.method, " ", request.path, ": there is POST /v1/translate, GET /v1/models, /v1/models/NAME and /")));
}

std::function<void()> HttpApi::Translate(const HttpRequest& request, const CallInfo& call, Reply reply) {
  const auto refuse = [&reply](const absl::Status& status) {
    reply(ErrorReply(status));
    return nullptr;
  };
  auto deadline = ReadDeadline(request);
  v1::TranslateDocumentRequest message;
  const absl::Status parsed = ParseJson(request.body, &message);
  for (const absl::Status& status : {deadline.status(), parsed}) {
    if (status.ok()) continue;
    translator_.TellRefused(call, Refusal::kOther, status.code());
    return refuse(status);
  }
  auto ticket = translator_.Start(message, call, *deadline, std::make_shared<HttpRecipient>(reply));
  if (!ticket.ok()) return refuse(ticket.status());
  return [ticket = *std::move(ticket)] { ticket->Cancel(); };
}

}  // namespace salient

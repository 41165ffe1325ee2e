#include "server/compat_host.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/access/call_info.h"
#include "server/rpc/service.h"

namespace salient {
namespace {

class ListeningRecipient final : public Recipient {
 public:
  explicit ListeningRecipient(CompatHost::Listener listener) : listener_(std::move(listener)) {}
  void TakeProgress(v1::Progress progress) override {
    if (listener_.progress) listener_.progress(progress);
  }
  void TakePermit(std::unique_ptr<Admission::Permit> permit) override { permit_ = std::move(permit); }
  void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) override {
    listener_.result(std::move(result), std::move(permit_));
  }

 private:
  const CompatHost::Listener listener_;
  std::unique_ptr<Admission::Permit> permit_;
};

}  // namespace

absl::StatusOr<CallInfo> TranslatorHost::Identify(const HttpRequest& request, const std::string& key) {
  HttpRequest caller;  // without the body
  caller.headers = request.headers;
  caller.peer_address = request.peer_address;
  caller.certificate_subject = request.certificate_subject;
  if (!key.empty()) caller.headers["Authorization"] = absl::StrCat("Bearer ", key);
  CallInfo call;
  if (absl::Status known = ReadCallInfo(access_, caller, &call); !known.ok()) return known;
  return call;
}

absl::StatusOr<std::function<void()>> TranslatorHost::Start(const v1::TranslateDocumentRequest& request,
                                                            const CallInfo& call, Listener listener,
                                                            WhenFull when_full) {
  auto ticket = translator_.Start(request, call, absl::InfiniteFuture(),
                                  std::make_shared<ListeningRecipient>(std::move(listener)),
                                  when_full == WhenFull::kWait ? salient::WhenFull::kWait : salient::WhenFull::kRefuse);
  if (!ticket.ok()) return ticket.status();
  return [ticket = *std::move(ticket)] { ticket->Cancel(); };
}

absl::StatusOr<std::unique_ptr<Admission::Permit>> TranslatorHost::Hold(int64_t bytes, const CallInfo& call) {
  return translator_.Hold(bytes, call);
}

absl::StatusOr<std::shared_ptr<ReservedTokens>> TranslatorHost::Reserve(int64_t tokens, const CallInfo& call) {
  return translator_.Reserve(tokens, call);
}

void TranslatorHost::TellRefused(const CallInfo& call, const absl::Status& status) {
  const bool unknown = absl::IsUnauthenticated(status);
  translator_.TellRefused(call, unknown ? Refusal::kUnauthenticated : Refusal::kOther, status.code());
}

std::vector<CompatGlossary> TranslatorHost::Glossaries() const {
  LanguageResources& resources = translator_.resources();
  std::vector<CompatGlossary> glossaries;
  for (const std::string& name : resources.GlossaryNames()) {
    const auto glossary = resources.GlossaryNamed(name);
    if (!glossary.ok()) continue;  // a request that names it is told why
    glossaries.push_back({.id = name,
                          .name = name,
                          .created = resources.GlossaryChanged(name),
                          .terms = static_cast<int64_t>((*glossary)->size())});
  }
  return glossaries;
}

absl::StatusOr<std::string> TranslatorHost::GlossaryTerms(const std::string& id) const {
  const auto glossary = translator_.resources().GlossaryNamed(id);
  if (!glossary.ok()) return glossary.status();
  std::string lines;
  for (size_t i = 0; i < (*glossary)->size(); ++i) {
    const Term& term = (*glossary)->term(i);
    absl::StrAppend(&lines, term.source, "\t", term.target, "\n");
  }
  return lines;
}

v1::ListModelsResponse TranslatorHost::Models() const { return ListModels(translator_.models()); }

}  // namespace salient

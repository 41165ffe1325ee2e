// Gives the compatible APIs (server/compat) the translator and the access checks that every other call uses.

#pragma once

#include "server/access/access.h"
#include "server/compat/host.h"
#include "server/translation/translator.h"

namespace salient {

class TranslatorHost final : public CompatHost {
 public:
  // Both must outlive it.
  TranslatorHost(Translator& translator, const Access& access) : translator_(translator), access_(access) {}

  absl::StatusOr<CallInfo> Identify(const HttpRequest& request, const std::string& key) override;
  absl::StatusOr<std::function<void()>> Start(const v1::TranslateDocumentRequest& request, const CallInfo& call,
                                              Listener listener, WhenFull when_full) override;
  void TellRefused(const CallInfo& call, const absl::Status& status) override;
  absl::StatusOr<std::unique_ptr<Admission::Permit>> Hold(int64_t bytes, const CallInfo& call) override;
  absl::StatusOr<std::shared_ptr<ReservedTokens>> Reserve(int64_t tokens, const CallInfo& call) override;
  v1::ListModelsResponse Models() const override;
  std::vector<CompatGlossary> Glossaries() const override;
  absl::StatusOr<std::string> GlossaryTerms(const std::string& id) const override;

 private:
  Translator& translator_;
  const Access& access_;
};

}  // namespace salient

// DeepL's API, version 2: https://developers.deepl.com/docs
//
//   POST   /v2/translate                   text with or without tags
//   POST   /v2/document                    upload; then POST /v2/document/ID for its state
//   POST   /v2/document/ID/result          the translation
//   GET    /v2/languages, /v2/usage
//   GET    /v2/glossaries[/ID[/entries]]   the server's glossaries, and those that the client has made
//   POST   /v2/glossaries                  makes one, if the server allows it (glossary_uploads.h)
//   DELETE /v2/glossaries/ID               removes one that the client has made
//   GET    /v2/glossary-language-pairs
//
// Keys: "Authorization: DeepL-Auth-Key KEY". Errors: {"message": ...}, 403 where the key is wrong.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/compat/context.h"
#include "server/compat/fields.h"
#include "server/compat/service.h"

namespace salient {

constexpr char kDeepLDocuments[] = "/v2/document/";

// What of the fields was not looked at, or asks for what there is not; a value that changes nothing is not told.
std::string IgnoredByDeepL(const Fields& fields);

class DeepL final : public CompatService {
 public:
  explicit DeepL(CompatContext& context) : context_(context) {}  // must outlive it

  bool Serves(std::string_view path) const override;
  Admitted Admit(const HttpRequest& request) override;
  bool IsDownload(const HttpRequest& request) const override;
  HttpResponse Error(const absl::Status& status) const override;

 private:
  Result Route(const HttpRequest& request, const HttpHandler::Reply& reply) override;
  Result Translate(const HttpRequest& request, CallInfo call, const HttpHandler::Reply& reply);
  absl::StatusOr<HttpResponse> Upload(const HttpRequest& request, CallInfo call);
  absl::StatusOr<HttpResponse> State(const HttpRequest& request, const CallInfo& call);
  absl::StatusOr<HttpResponse> Glossaries(const HttpRequest& request, const CallInfo& call);
  std::vector<CompatGlossary> AllGlossaries(const std::string& client) const;  // the client's, then the server's
  bool IsOfServer(std::string_view glossary) const;
  absl::StatusOr<HttpResponse> MakeGlossary(const HttpRequest& request, const std::string& client);
  absl::Status UseGlossary(const Fields& fields, v1::TranslateDocumentRequest* request, CallInfo* call) const;
  absl::StatusOr<HttpResponse> ListLanguages(const HttpRequest& request) const;

  CompatContext& context_;
};

}  // namespace salient

// Google's Cloud Translation, version 3, over REST: https://cloud.google.com/translate/docs/reference/rest
//
//   POST /v3/projects/P[/locations/L]:translateText  :translateDocument  :detectLanguage
//   GET  /v3/projects/P[/locations/L]/supportedLanguages
//
// Projects and locations are taken as they come. Keys: x-goog-api-key, ?key=KEY, or "Authorization: Bearer KEY".
// Errors:
// {"error": {"code", "message", "status"}}.

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/compat/context.h"
#include "server/compat/fields.h"
#include "server/compat/service.h"

namespace salient {

class Google final : public CompatService {
 public:
  explicit Google(CompatContext& context) : context_(context) {}  // must outlive it

  bool Serves(std::string_view path) const override;
  Admitted Admit(const HttpRequest& request) override;
  bool IsDownload(const HttpRequest&) const override { return false; }
  HttpResponse Error(const absl::Status& status) const override;

 private:
  Result Route(const HttpRequest& request, const HttpHandler::Reply& reply) override;
  Result TranslateText(const HttpRequest& request, const Fields& fields, CallInfo call,
                       const HttpHandler::Reply& reply);
  Result TranslateDocument(const HttpRequest& request, const Fields& fields, CallInfo call,
                           const HttpHandler::Reply& reply);
  absl::StatusOr<HttpResponse> DetectLanguage(const Fields& fields) const;
  absl::StatusOr<HttpResponse> SupportedLanguages(const Fields& fields) const;

  CompatContext& context_;
};

}  // namespace salient

// LibreTranslate's API: https://docs.libretranslate.com/api/
//
//   POST /translate  /detect  /translate_file     GET /languages  /frontend/settings  /download_file/ID.NAME
//
// Keys: the field `api_key`, in the body or in the request's target. A key in the body is known only once the body was
// read; so a request without one elsewhere may have a body of 64 KiB at most, not compressed, while the server asks for
// keys. /languages, /frontend/settings and downloads of what /translate_file has translated, whose names cannot be
// guessed, ask for none, as LibreTranslate itself.
// Errors: {"error": "..."}, 403 where the key is wrong.

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/compat/context.h"
#include "server/compat/fields.h"
#include "server/compat/service.h"

namespace salient {

class LibreTranslate final : public CompatService {
 public:
  explicit LibreTranslate(CompatContext& context) : context_(context) {}  // must outlive it

  bool Serves(std::string_view path) const override;
  Admitted Admit(const HttpRequest& request) override;
  bool IsDownload(const HttpRequest& request) const override;
  HttpResponse Error(const absl::Status& status) const override;

 private:
  Result Route(const HttpRequest& request, const HttpHandler::Reply& reply) override;
  Result Translate(const HttpRequest& request, const Fields& fields, const CallInfo& call,
                   const HttpHandler::Reply& reply);
  Result TranslateFile(const HttpRequest& request, const Fields& fields, const CallInfo& call,
                       const HttpHandler::Reply& reply);
  absl::StatusOr<HttpResponse> Detect(const Fields& fields) const;
  HttpResponse ListLanguages() const;
  HttpResponse Settings() const;
  absl::StatusOr<HttpResponse> FetchFile(const HttpRequest& request);

  CompatContext& context_;
};

}  // namespace salient

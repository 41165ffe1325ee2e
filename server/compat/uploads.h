// Documents in forms: an uploaded file as a request, and its translation as a download.

#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/compat/context.h"
#include "server/compat/controls.h"
#include "server/compat/fields.h"
#include "server/compat/languages.h"

namespace salient {

struct Upload {
  v1::TranslateDocumentRequest request;
  LanguageChoice languages;
  std::string file_name;      // of the translation: "report.de.docx" of "report.docx"
  bool needs_no_key = false;  // as StoredDocument
};

// The file of field `file`; its name tells the format. INVALID_ARGUMENT says what is missing or not known.
absl::StatusOr<Upload> ReadUpload(const CompatContext& context, const FormPart* file, const std::string& file_name,
                                  const Controls& controls, const std::string& source, const std::string& target);

struct StartedUpload {
  StoredDocument document;
  std::function<void()> cancel;  // of its translation
};

// Stores the document and starts its translation. The host has been told of a failure.
absl::StatusOr<StartedUpload> StartUpload(CompatContext& context, const CallInfo& call, Upload upload,
                                          bool wants_report, std::function<void(const StoredDocument&)> finished);

// The translation as a file, with its report if one was asked for; and FileReply's error.
absl::StatusOr<HttpResponse> Download(CompatContext& context, const CallInfo& call, const StoredDocument& document);

}  // namespace salient

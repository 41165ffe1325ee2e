#include "server/compat/uploads.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/formats/registry.h"
#include "server/compat/answer.h"
#include "server/compat/reply.h"
#include "server/compat/texts.h"

namespace salient {
namespace {

// Without folders, as browsers of old send them.
std::string BaseName(const std::string& name) { return name.substr(name.find_last_of("/\\") + 1); }

std::string TranslatedName(const std::string& name, const std::string& language) {
  const size_t dot = name.rfind('.');
  return absl::StrCat(name.substr(0, dot), ".", absl::AsciiStrToLower(language), name.substr(dot));
}

}  // namespace

absl::StatusOr<Upload> ReadUpload(const CompatContext& context, const FormPart* file, const std::string& file_name,
                                  const Controls& controls, const std::string& source, const std::string& target) {
  if (file == nullptr) return absl::InvalidArgumentError("file: is missing; send it in a form of multipart/form-data");
  const std::string name = BaseName(file_name.empty() ? file->file_name : file_name);
  if (const absl::Status status = CheckNameLength("file: its name", name); !status.ok()) return status;
  auto type = TypeOfFile(name);
  if (!type.ok()) return absl::InvalidArgumentError(absl::StrCat("file: ", type.status().message()));
  if (file->content.empty()) return absl::InvalidArgumentError("file: is empty");
  const Languages languages(context.host.Models(), controls.request.model());
  auto choice = languages.Choose(source, target, *type->format, file->content);
  if (!choice.ok()) return choice.status();

  Upload upload{controls.request, *std::move(choice)};
  upload.request.set_source_language(upload.languages.source);
  upload.request.set_target_language(upload.languages.target);
  upload.request.mutable_document()->set_content(std::string(file->content));
  upload.request.mutable_document()->set_mime_type(std::string(type->mime_type));
  upload.file_name = TranslatedName(name, upload.languages.target);
  return upload;
}

absl::StatusOr<StartedUpload> StartUpload(CompatContext& context, const CallInfo& call, Upload upload,
                                          bool wants_report, std::function<void(const StoredDocument&)> finished) {
  StoredDocument document;
  document.client = call.client.id();
  document.file_name = std::move(upload.file_name);
  document.wants_report = wants_report;
  document.needs_no_key = upload.needs_no_key;
  auto stored =
      context.documents.Add(std::move(document), static_cast<int64_t>(upload.request.document().content().size()));
  if (!stored.ok()) return Told(context, call, absl::StatusOr<StartedUpload>(stored.status()));
  CompatHost::Listener listener;
  listener.progress = [&context, id = stored->id](const v1::Progress& progress) {
    context.documents.SetProgress(id, progress);
  };
  listener.result = [&context, id = stored->id, finished = std::move(finished)](auto result, auto permit) {
    permit.reset();  // from here on the store counts it
    context.documents.Finish(id, std::move(result));
    const auto kept = context.documents.Find(id);
    if (!kept.ok()) return;
    if (kept->state == DocumentState::kDone) context.usage.Add(kept->client, kept->characters);
    if (finished) finished(*kept);
  };
  auto started = context.host.Start(upload.request, call, std::move(listener));
  if (started.ok()) return StartedUpload{*std::move(stored), *std::move(started)};
  context.documents.Remove(stored->id);
  return started.status();
}

absl::StatusOr<HttpResponse> Download(CompatContext& context, const CallInfo& call, const StoredDocument& document) {
  const v1::TranslateDocumentResponse& response = *document.response;
  auto reply = FileReply(context.host, call, response.mime_type(), TranslatedText(response));
  if (!reply.ok()) return reply;
  reply->headers["Content-Disposition"] = absl::StrCat("attachment; filename=\"", HeaderSafe(document.file_name), "\"");
  if (document.wants_report) reply->headers["X-Salient-Report"] = ReportOf(response).dump();
  return reply;
}

}  // namespace salient

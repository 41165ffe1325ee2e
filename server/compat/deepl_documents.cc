// DeepL's documents: upload, state, download.

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/admission/status_message.h"
#include "server/compat/controls.h"
#include "server/compat/deepl.h"
#include "server/compat/reply.h"
#include "server/compat/uploads.h"

namespace salient {
namespace {

using nlohmann::json;

constexpr char kResult[] = "/result";

const char* NameOf(DocumentState state) {
  switch (state) {
    case DocumentState::kQueued:
      return "queued";
    case DocumentState::kTranslating:
      return "translating";
    case DocumentState::kDone:
      return "done";
    case DocumentState::kFailed:
      return "error";
  }
  return "error";
}

json StateOf(const StoredDocument& document) {
  json state = {{"document_id", document.id}, {"status", NameOf(document.state)}};
  if (document.state == DocumentState::kTranslating && document.seconds_remaining > 0) {
    state["seconds_remaining"] = static_cast<int64_t>(document.seconds_remaining) + 1;
  }
  if (document.state == DocumentState::kDone) {
    state["billed_characters"] = document.characters;
    if (document.wants_report) state["salient"] = ReportOf(*document.response);
  }
  if (document.state == DocumentState::kFailed) state["error_message"] = MessageOf(document.failure);
  return state;
}

// The format of the translation is that of the document.
absl::Status CheckOutputFormat(const Fields& fields, const std::string& file_name) {
  auto format = fields.String("output_format");
  if (!format.ok() || format->empty()) return format.status();
  if (absl::EndsWithIgnoreCase(file_name, "." + *format)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output_format: '", *format, "' is another format than the document's; leave it out"));
}

// Text is split at line breaks, and so is XML unless it asks for "nonewlines"; HTML is not. Only text has "0".
bool HonoursSplit(const Fields& fields) {
  const json& split = fields.values()["split_sentences"];
  const json tags = fields.values().value("tag_handling", json());
  if (split == "0") return tags != "xml" && tags != "html";
  if (split == "1") return tags != "html";
  return split == "nonewlines" && (tags == "xml" || tags == "html");
}

}  // namespace

std::string IgnoredByDeepL(const Fields& fields) {
  std::vector<std::string> ignored;
  const auto asks_for = [&fields](const char* name, const json& nothing) {
    return fields.Has(name) && fields.values()[name] != nothing;
  };
  if (asks_for("formality", "default")) ignored.emplace_back("formality");
  if (fields.Has("split_sentences") && !HonoursSplit(fields)) ignored.emplace_back("split_sentences");
  std::string others =
      fields.OtherThan({"text", "source_lang", "target_lang", "tag_handling", "ignore_tags", "splitting_tags",
                        "non_splitting_tags", "outline_detection", "split_sentences", "formality",
                        "show_billed_characters", "salient", "filename", "output_format", "glossary_id"});
  if (!others.empty()) ignored.push_back(std::move(others));
  return absl::StrJoin(ignored, ", ");
}

absl::StatusOr<HttpResponse> DeepL::Upload(const HttpRequest& request, CallInfo call) {
  auto fields = Fields::Read(request);
  if (!fields.ok()) return fields.status();
  auto controls = ReadControls(request, *fields);
  if (!controls.ok()) return controls.status();
  if (absl::Status status = UseGlossary(*fields, &controls->request, &call); !status.ok()) return status;
  auto source = fields->String("source_lang"), target = fields->String("target_lang"),
       name = fields->String("filename");
  for (const absl::Status& status : {source.status(), target.status(), name.status()}) {
    if (!status.ok()) return status;
  }
  if (target->empty()) return absl::InvalidArgumentError("target_lang: is missing");
  auto upload = ReadUpload(context_, fields->File("file"), *name, *controls, *source, *target);
  if (!upload.ok()) return upload.status();
  if (absl::Status status = CheckOutputFormat(*fields, upload->file_name); !status.ok()) return status;
  // Its client need not wait for it: it has what it asks with.
  auto started = StartUpload(context_, call, *std::move(upload), controls->wants_report, /*finished=*/nullptr);
  if (!started.ok()) return Error(started.status());
  const StoredDocument& stored = started->document;
  HttpResponse response = JsonReply({{"document_id", stored.id}, {"document_key", stored.key}});
  WarnIgnored(IgnoredByDeepL(*fields), &response);
  return response;
}

absl::StatusOr<HttpResponse> DeepL::State(const HttpRequest& request, const CallInfo& call) {
  auto fields = Fields::Read(request);
  if (!fields.ok()) return fields.status();
  auto key = fields->String("document_key");
  if (!key.ok()) return key.status();
  std::string id = request.path.substr(sizeof(kDeepLDocuments) - 1);
  const bool result = absl::EndsWith(id, kResult);
  if (result) id.resize(id.size() - (sizeof(kResult) - 1));
  auto document = context_.documents.Find(id);
  if (!document.ok()) return document.status();
  if (document->key != *key || document->client != call.client.id()) {
    return absl::NotFoundError("there is no document of this id and key");
  }
  if (!result) return JsonReply(StateOf(*document));
  if (document->state == DocumentState::kFailed) return document->failure;
  if (document->state != DocumentState::kDone) return absl::UnavailableError("the document is not translated yet");
  auto download = Download(context_, call, *document);
  if (download.ok()) context_.documents.Remove(id);
  return download;
}

}  // namespace salient

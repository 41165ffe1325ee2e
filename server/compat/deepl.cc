#include "server/compat/deepl.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/admission/status_message.h"
#include "server/compat/answer.h"
#include "server/compat/controls.h"
#include "server/compat/languages.h"
#include "server/compat/reply.h"
#include "server/compat/texts.h"

namespace salient {
namespace {

using nlohmann::json;

constexpr int64_t kNoLimit = 1000000000000;  // what DeepL says where there is no limit of characters

std::string DeepLKeyOf(const HttpRequest& request) {
  const std::string header = request.header("Authorization");
  constexpr absl::string_view kScheme = "DeepL-Auth-Key ";
  if (!absl::StartsWithIgnoreCase(header, kScheme)) return "";
  return std::string(absl::StripAsciiWhitespace(absl::string_view(header).substr(kScheme.size())));
}

// Older clients of DeepL's end the path with a slash.
bool IsUpload(std::string_view path) { return path == "/v2/document" || path == kDeepLDocuments; }

// DeepL's fields of a request for texts, as ours.
struct DeepLTexts {
  std::vector<std::string> texts;
  std::string source, target;
  Markup markup = Markup::kNone;
  bool show_billed = false;
};

absl::StatusOr<Markup> ReadTagHandling(const Fields& fields) {
  auto name = fields.String("tag_handling");
  if (!name.ok()) return name.status();
  if (*name == "html") return Markup::kHtml;
  if (*name == "xml") return Markup::kXml;
  if (!name->empty()) return absl::InvalidArgumentError("tag_handling: is neither xml nor html");
  return Markup::kNone;
}

absl::Status ReadTags(const Fields& fields, v1::ElementRules* rules) {
  auto keep = fields.List("ignore_tags"), block = fields.List("splitting_tags"),
       in_text = fields.List("non_splitting_tags");
  auto outline = fields.Bool("outline_detection");
  for (const absl::Status& status : {keep.status(), block.status(), in_text.status(), outline.status()}) {
    if (!status.ok()) return status;
  }
  rules->mutable_keep()->Add(keep->begin(), keep->end());
  rules->mutable_block()->Add(block->begin(), block->end());
  rules->mutable_in_text()->Add(in_text->begin(), in_text->end());
  rules->set_listed_only(!outline->value_or(true));
  return absl::OkStatus();
}

absl::StatusOr<DeepLTexts> ReadTexts(const Fields& fields, v1::TranslateDocumentRequest* request) {
  auto texts = fields.Strings("text");
  auto source = fields.String("source_lang"), target = fields.String("target_lang"),
       split = fields.String("split_sentences");
  auto markup = ReadTagHandling(fields);
  auto show = fields.Bool("show_billed_characters");
  for (const absl::Status& status :
       {texts.status(), source.status(), target.status(), split.status(), markup.status(), show.status()}) {
    if (!status.ok()) return status;
  }
  if (texts->empty()) return absl::InvalidArgumentError("text: is missing; send one text or more");
  if (target->empty()) return absl::InvalidArgumentError("target_lang: is missing");
  if (*markup != Markup::kNone) {
    if (absl::Status status = ReadTags(fields, request->mutable_document()->mutable_elements()); !status.ok()) {
      return status;
    }
    // DeepL's default for XML.
    request->mutable_document()->mutable_elements()->set_keep_line_breaks(*markup == Markup::kXml &&
                                                                          *split != "nonewlines");
  } else if (*split == "0") {
    request->mutable_document()->set_segmentation(v1::SEGMENTATION_LINES);
  }
  return DeepLTexts{*std::move(texts), *std::move(source), *std::move(target), *markup, show->value_or(false)};
}

// `billed`: the characters of each text; empty: they are not asked for.
HttpResponse Translations(const std::vector<int64_t>& billed, const std::vector<LanguageChoice>& languages,
                          bool wants_report, const std::vector<v1::TranslateDocumentResponse>& responses) {
  json translations = json::array();
  for (size_t i = 0; i < responses.size(); ++i) {
    json one = {{"detected_source_language", absl::AsciiStrToUpper(languages[i].source)},
                {"text", TranslatedText(responses[i])}};
    if (!billed.empty()) one["billed_characters"] = billed[i];
    if (wants_report) one["salient"] = ReportOf(responses[i]);
    translations.push_back(std::move(one));
  }
  return JsonReply({{"translations", std::move(translations)}});
}

}  // namespace

bool DeepL::Serves(std::string_view path) const {
  return path.starts_with("/v2/") || path.starts_with("/v3/glossaries");
}

DeepL::Admitted DeepL::Admit(const HttpRequest& request) {
  return CallerOf(context_.host.Identify(request, DeepLKeyOf(request)));
}

bool DeepL::IsDownload(const HttpRequest& request) const {
  return request.path.starts_with(kDeepLDocuments) && !IsUpload(request.path);
}

HttpResponse DeepL::Error(const absl::Status& status) const {
  return JsonError({{"message", MessageOf(status)}}, status, /*unauthenticated=*/403);
}

DeepL::Result DeepL::Route(const HttpRequest& request, const HttpHandler::Reply& reply) {
  const auto call = context_.host.Identify(request, DeepLKeyOf(request));
  if (!call.ok()) return call.status();
  const bool post = request.method == "POST", get = request.method == "GET";
  if (post && request.path == "/v2/translate") return Told(context_, *call, Translate(request, *call, reply));
  absl::StatusOr<HttpResponse> response = absl::NotFoundError(
      absl::StrCat(request.method, " ", request.path,
                   ": there is /v2/translate, /v2/document, /v2/languages, /v2/usage, /v2/glossaries"));
  if (post && IsUpload(request.path)) {
    response = Told(context_, *call, Upload(request, *call));
  } else if ((post || get) && request.path.starts_with(kDeepLDocuments)) {
    response = State(request, *call);
  } else if (get && request.path == "/v2/usage") {
    response = JsonReply({{"character_count", context_.usage.Of(call->client.id())}, {"character_limit", kNoLimit}});
  } else if (get && request.path == "/v2/languages") {
    response = ListLanguages(request);
  } else if (request.path.find("/glossar") != std::string::npos) {
    response = Glossaries(request, *call);
  }
  return Answered(std::move(response), reply);
}

DeepL::Result DeepL::Translate(const HttpRequest& request, CallInfo call, const HttpHandler::Reply& reply) {
  auto fields = Fields::Read(request);
  if (!fields.ok()) return fields.status();
  auto controls = ReadControls(request, *fields);
  if (!controls.ok()) return controls.status();
  if (absl::Status status = UseGlossary(*fields, &controls->request, &call); !status.ok()) return status;
  auto read = ReadTexts(*fields, &controls->request);
  if (!read.ok()) return read.status();
  auto made = MakeTextRequests(context_.host.Models(), controls->request, read->source, read->target, read->texts,
                               read->markup);
  if (!made.ok()) return made.status();
  std::vector<int64_t> billed;
  if (read->show_billed) {
    for (const std::string& text : read->texts) billed.push_back(CountCharacters(text));
  }
  const auto write = [billed = std::move(billed), languages = made->languages, wants_report = controls->wants_report](
                         const auto& responses) { return Translations(billed, languages, wants_report, responses); };
  return AnswerTexts(context_, call, *std::move(made), {*this, reply, IgnoredByDeepL(*fields), write});
}

absl::StatusOr<HttpResponse> DeepL::ListLanguages(const HttpRequest& request) const {
  auto fields = Fields::Read(request);  // deepl's own client sends the type in a body
  if (!fields.ok()) return fields.status();
  auto type = fields->String("type");
  if (!type.ok()) return type.status();
  if (*type != "target" && *type != "source" && !type->empty()) {
    return absl::InvalidArgumentError("type: is neither source nor target");
  }
  const Languages languages(context_.host.Models());
  std::set<std::string> codes;
  for (const std::string& language : *type == "target" ? languages.targets() : languages.sources()) {
    const std::string code = absl::AsciiStrToUpper(language);
    // As targets DeepL has these two by region only, and its clients refuse them without.
    if (*type == "target" && code == "EN") {
      codes.insert({"EN-GB", "EN-US"});
    } else if (*type == "target" && code == "PT") {
      codes.insert({"PT-BR", "PT-PT"});
    } else {
      codes.insert(code);
    }
  }
  json list = json::array();
  for (const std::string& code : codes) {
    json one = {{"language", code}, {"name", LanguageName(code)}};
    if (*type == "target") one["supports_formality"] = false;
    list.push_back(std::move(one));
  }
  return JsonReply(list);
}

}  // namespace salient

#include "server/compat/google.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "documents/formats/registry.h"
#include "server/admission/status_message.h"
#include "server/compat/answer.h"
#include "server/compat/controls.h"
#include "server/compat/languages.h"
#include "server/compat/reply.h"
#include "server/compat/texts.h"
#include "server/http/status_code.h"

namespace salient {
namespace {

using nlohmann::json;

constexpr char kProjects[] = "/v3/projects/";

std::string GoogleKeyOf(const HttpRequest& request) {
  const std::string header = request.header("x-goog-api-key");
  return header.empty() ? request.query_value("key").value_or("") : header;
}

// A field of a message in JSON, whose name may be written in both ways: "mimeType" and "mime_type".
std::string NameIn(const Fields& fields, const std::string& camel) {
  if (fields.Has(camel)) return camel;
  std::string snake;
  for (const char c : camel) {
    if (c >= 'A' && c <= 'Z') snake += '_';
    snake += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return snake;
}

absl::StatusOr<std::string> StringIn(const Fields& fields, const std::string& camel) {
  return fields.String(NameIn(fields, camel));
}

// "" of "projects/P/locations/L/models/general/nmt"; NAME where a model of this server ends the path.
std::string ModelOf(const std::string& path, const v1::ListModelsResponse& models) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool known = std::any_of(models.models().begin(), models.models().end(),
                                 [&](const v1::Model& model) { return model.name() == name; });
  return known ? name : "";
}

// NAME of glossaryConfig: {"glossary": "projects/P/locations/L/glossaries/NAME"}; "" if there is none.
absl::StatusOr<std::string> GlossaryOf(const Fields& fields) {
  const std::string name = NameIn(fields, "glossaryConfig");
  if (!fields.Has(name)) return "";
  const json& config = fields.values()[name];
  const json path = config.is_object() ? config.value("glossary", json()) : json();
  if (!path.is_string()) return absl::InvalidArgumentError("glossary_config.glossary: is missing");
  const auto text = path.get<std::string>();
  return text.substr(text.rfind('/') + 1);
}

// What both ways of translating have: languages, model, glossary.
struct Common {
  Controls controls;
  std::string source, target;
};

absl::StatusOr<Common> ReadCommon(const HttpRequest& request, const Fields& fields, const CompatContext& context,
                                  const v1::ListModelsResponse& models, CallInfo* call) {
  auto controls = ReadControls(request, fields);
  auto source = StringIn(fields, "sourceLanguageCode"), target = StringIn(fields, "targetLanguageCode");
  auto model = fields.String("model");
  auto glossary = GlossaryOf(fields);
  for (const absl::Status& status :
       {controls.status(), source.status(), target.status(), model.status(), glossary.status()}) {
    if (!status.ok()) return status;
  }
  if (target->empty()) return absl::InvalidArgumentError("target_language_code: is missing");
  if (!glossary->empty()) {
    const absl::Status status = context.glossaries.Use(*glossary, *target, &controls->request, call);
    if (!status.ok()) return status;
  }
  if (controls->request.model().empty()) controls->request.set_model(ModelOf(*model, models));
  return Common{*std::move(controls), *std::move(source), *std::move(target)};
}

std::string Ignored(const Fields& fields) {
  return fields.OtherThan({"contents",
                           "mimeType",
                           "mime_type",
                           "sourceLanguageCode",
                           "source_language_code",
                           "targetLanguageCode",
                           "target_language_code",
                           "model",
                           "parent",
                           "salient",
                           "key",
                           "$alt",
                           "alt",
                           "$prettyPrint",
                           "prettyPrint",
                           "documentInputConfig",
                           "document_input_config",
                           "content",
                           "labels",
                           "glossaryConfig",
                           "glossary_config"});
}

json Translation(const v1::TranslateDocumentResponse& response, const LanguageChoice& languages) {
  json one = {{"model", response.model()}};
  if (!languages.detected.empty()) one["detectedLanguageCode"] = languages.source;
  return one;
}

HttpResponse Translations(const std::vector<LanguageChoice>& languages, bool wants_report, bool with_glossary,
                          const std::vector<v1::TranslateDocumentResponse>& responses) {
  json translations = json::array();
  for (size_t i = 0; i < responses.size(); ++i) {
    const v1::TranslateDocumentResponse& response = responses[i];
    json one = Translation(response, languages[i]);
    one["translatedText"] = TranslatedText(response);
    if (wants_report) one["salient"] = ReportOf(response);
    translations.push_back(std::move(one));
  }
  json body = {{"translations", translations}};
  if (with_glossary) body["glossaryTranslations"] = std::move(translations);
  return JsonReply(body);
}

// {"mimeType", "content"} of documentInputConfig.
absl::StatusOr<v1::Document> ReadDocument(const Fields& fields) {
  const std::string name = NameIn(fields, "documentInputConfig");
  if (!fields.Has(name) || !fields.values()[name].is_object()) {
    return absl::InvalidArgumentError("document_input_config: is missing");
  }
  const json& config = fields.values()[name];
  const auto value = [&config](const char* camel, const char* snake) {
    const json found = config.value(camel, config.value(snake, json()));
    return found.is_string() ? found.get<std::string>() : std::string();
  };
  std::string content;
  const std::string encoded = value("content", "content");
  if (encoded.empty()) {
    return absl::InvalidArgumentError("document_input_config.content: is missing; this server reads no other source");
  }
  if (!absl::Base64Unescape(encoded, &content) && !absl::WebSafeBase64Unescape(encoded, &content)) {
    return absl::InvalidArgumentError("document_input_config.content: is not Base64");
  }
  v1::Document document;
  document.set_content(std::move(content));
  document.set_mime_type(value("mimeType", "mime_type"));
  return document;
}

}  // namespace

bool Google::Serves(std::string_view path) const { return path.starts_with(kProjects); }

Google::Admitted Google::Admit(const HttpRequest& request) {
  return CallerOf(context_.host.Identify(request, GoogleKeyOf(request)));
}

HttpResponse Google::Error(const absl::Status& status) const {
  constexpr int kUnauthenticated = 401;
  const json error = {{"code", absl::IsUnauthenticated(status) ? kUnauthenticated : ToHttp(status.code())},
                      {"message", MessageOf(status)},
                      {"status", absl::StatusCodeToString(status.code())}};
  return JsonError({{"error", error}}, status, kUnauthenticated);
}

Google::Result Google::Route(const HttpRequest& request, const HttpHandler::Reply& reply) {
  const auto call = context_.host.Identify(request, GoogleKeyOf(request));
  if (!call.ok()) return call.status();
  auto fields = Fields::Read(request);
  if (!fields.ok()) return Told(context_, *call, Result(fields.status()));
  if (request.method == "POST" && absl::EndsWith(request.path, ":translateText")) {
    return Told(context_, *call, TranslateText(request, *fields, *call, reply));
  }
  if (request.method == "POST" && absl::EndsWith(request.path, ":translateDocument")) {
    return Told(context_, *call, TranslateDocument(request, *fields, *call, reply));
  }
  absl::StatusOr<HttpResponse> response = absl::UnimplementedError(
      absl::StrCat(request.method, " ", request.path,
                   ": this server has :translateText, :translateDocument, :detectLanguage and supportedLanguages"));
  if (request.method == "POST" && absl::EndsWith(request.path, ":detectLanguage")) {
    response = DetectLanguage(*fields);
  } else if (request.method == "GET" && absl::EndsWith(request.path, "/supportedLanguages")) {
    response = SupportedLanguages(*fields);
  }
  return Answered(std::move(response), reply);
}

Google::Result Google::TranslateText(const HttpRequest& request, const Fields& fields, CallInfo call,
                                     const HttpHandler::Reply& reply) {
  const v1::ListModelsResponse models = context_.host.Models();
  auto common = ReadCommon(request, fields, context_, models, &call);
  if (!common.ok()) return common.status();
  auto texts = fields.Strings("contents");
  auto type = StringIn(fields, "mimeType");
  for (const absl::Status& status : {texts.status(), type.status()}) {
    if (!status.ok()) return status;
  }
  if (texts->empty()) return absl::InvalidArgumentError("contents: is missing; send one text or more");
  if (!type->empty() && *type != "text/html" && *type != "text/plain") {
    return absl::InvalidArgumentError(absl::StrCat("mime_type: '", *type, "' is neither text/html nor text/plain"));
  }
  const Markup markup = *type == "text/plain" ? Markup::kNone : Markup::kHtml;  // HTML is Google's default
  auto made = MakeTextRequests(models, common->controls.request, common->source, common->target, *texts, markup);
  if (!made.ok()) return made.status();
  const auto write = [languages = made->languages, wants_report = common->controls.wants_report,
                      with_glossary = common->controls.request.has_glossary()](const auto& responses) {
    return Translations(languages, wants_report, with_glossary, responses);
  };
  return AnswerTexts(context_, call, *std::move(made), {*this, reply, Ignored(fields), write});
}

Google::Result Google::TranslateDocument(const HttpRequest& request, const Fields& fields, CallInfo call,
                                         const HttpHandler::Reply& reply) {
  const v1::ListModelsResponse models = context_.host.Models();
  auto common = ReadCommon(request, fields, context_, models, &call);
  if (!common.ok()) return common.status();
  auto document = ReadDocument(fields);
  if (!document.ok()) return document.status();
  auto type = TypeNamed(document->mime_type());
  if (!type.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("document_input_config.", type.status().message()));
  }
  auto choice = Languages(models, common->controls.request.model())
                    .Choose(common->source, common->target, *type->format, document->content());
  if (!choice.ok()) return choice.status();
  v1::TranslateDocumentRequest message = common->controls.request;
  *message.mutable_document() = *std::move(document);
  message.set_source_language(choice->source);
  message.set_target_language(choice->target);
  CompatHost::Listener listener;
  listener.result = [this, reply, languages = *std::move(choice), ignored = Ignored(fields), client = call.client.id(),
                     wants_report = common->controls.wants_report,
                     with_glossary = common->controls.request.has_glossary()](auto response, auto permit) {
    if (!response.ok()) return reply(Error(response.status()));
    for (const v1::TranslatedSegment& segment : response->segments()) {
      context_.usage.Add(client, CountCharacters(segment.source()));
    }
    json translation = Translation(*response, languages);
    json body = {{"model", translation["model"]}};
    translation.erase("model");
    translation["mimeType"] = response->mime_type();
    translation["byteStreamOutputs"] = json::array({absl::Base64Escape(response->content())});
    if (with_glossary) body["glossaryDocumentTranslation"] = translation;
    body["documentTranslation"] = std::move(translation);
    if (wants_report) body["salient"] = ReportOf(*response);
    HttpResponse http = JsonReply(body);
    WarnIgnored(ignored, &http);
    CountUntilRead(std::move(permit), &http);
    reply(std::move(http));
  };
  auto cancel = context_.host.Start(message, call, std::move(listener));
  if (cancel.ok()) return cancel;
  reply(Error(cancel.status()));  // the host has been told
  return nullptr;
}

absl::StatusOr<HttpResponse> Google::DetectLanguage(const Fields& fields) const {
  auto text = fields.String("content");
  auto type = StringIn(fields, "mimeType");
  if (!text.ok()) return text.status();
  if (!type.ok()) return type.status();
  if (text->empty()) return absl::InvalidArgumentError("content: is missing");
  json found = json::array();
  for (const DetectedLanguage& one : DetectLanguages(*text, *type != "text/plain")) {
    found.push_back({{"languageCode", one.language}, {"confidence", one.confidence}});
  }
  return JsonReply({{"languages", std::move(found)}});
}

absl::StatusOr<HttpResponse> Google::SupportedLanguages(const Fields& fields) const {
  auto names = StringIn(fields, "displayLanguageCode");
  if (!names.ok()) return names.status();
  const Languages languages(context_.host.Models());
  std::vector<std::string> sources = languages.sources(), targets = languages.targets(), all;
  std::set_union(sources.begin(), sources.end(), targets.begin(), targets.end(), std::back_inserter(all));
  json list = json::array();
  for (const std::string& code : all) {
    json one = {{"languageCode", code},
                {"supportSource", std::binary_search(sources.begin(), sources.end(), code)},
                {"supportTarget", std::binary_search(targets.begin(), targets.end(), code)}};
    if (!names->empty()) one["displayName"] = LanguageName(code, *names);
    list.push_back(std::move(one));
  }
  return JsonReply({{"languages", std::move(list)}});
}

}  // namespace salient

#include "server/compat/libretranslate.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "documents/formats/registry.h"
#include "server/admission/status_message.h"
#include "server/compat/answer.h"
#include "server/compat/controls.h"
#include "server/compat/languages.h"
#include "server/compat/reply.h"
#include "server/compat/texts.h"
#include "server/compat/uploads.h"

namespace salient {
namespace {

using nlohmann::json;

constexpr char kDownloads[] = "/download_file/";
constexpr int64_t kLargestBodyWithKey = 64 << 10;
constexpr int kMostAlternatives = 15;

bool IsOpen(const HttpRequest& request) {
  const bool get = request.method == "GET" || request.method == "HEAD";
  return get &&
         (request.path == "/languages" || request.path == "/frontend/settings" || request.path.starts_with(kDownloads));
}

std::string KeyInTarget(const HttpRequest& request) { return request.query_value("api_key").value_or(""); }

// Who calls, if no key says so.
CallInfo CallOfAddress(const HttpRequest& request) {
  return {{Client::Kind::kAddress, request.peer_address, {}}, request.header("X-Request-Id"), "", "http"};
}

json DetectedOf(const LanguageChoice& languages) {
  // Where nothing was detected there was only one language that it could be.
  double confidence = 0;
  for (const DetectedLanguage& one : languages.detected) {
    if (one.language == languages.source) confidence = one.confidence;
  }
  return {{"language", languages.source}, {"confidence", 100 * confidence}};
}

// LibreTranslate's fields of a request for texts, as ours.
struct LibreTexts {
  std::vector<std::string> texts;
  bool is_list = false;  // and so is the reply then
  std::string source, target;
  Markup markup = Markup::kNone;
  int alternatives = 0;
};

absl::StatusOr<LibreTexts> ReadTexts(const Fields& fields) {
  auto texts = fields.Strings("q");
  auto source = fields.String("source"), target = fields.String("target"), format = fields.String("format");
  auto alternatives = fields.Int("alternatives");
  for (const absl::Status& status :
       {texts.status(), source.status(), target.status(), format.status(), alternatives.status()}) {
    if (!status.ok()) return status;
  }
  for (const char* name : {"q", "source", "target"}) {
    if (!fields.Has(name))
      return absl::InvalidArgumentError(absl::StrCat("Invalid request: missing ", name, " parameter"));
  }
  if (!format->empty() && *format != "text" && *format != "html") {
    return absl::InvalidArgumentError(absl::StrCat(*format, " format is not supported; there is text and html"));
  }
  if (*alternatives < 0 || *alternatives > kMostAlternatives) {
    return absl::InvalidArgumentError(absl::StrCat("alternatives: must be from 0 to ", kMostAlternatives));
  }
  LibreTexts read{*std::move(texts), fields.values()["q"].is_array(), *std::move(source), *std::move(target)};
  if (read.source == "auto") read.source.clear();
  read.markup = *format == "html" ? Markup::kHtml : Markup::kNone;
  read.alternatives = read.markup == Markup::kHtml ? 0 : *alternatives;  // as LibreTranslate: none of HTML
  return read;
}

void AskForAlternatives(int alternatives, v1::SearchControls* search) {
  if (alternatives == 0) return;
  if (!search->has_n_best()) search->set_n_best(alternatives + 1);
  if (search->beam() < search->n_best()) search->set_beam(search->n_best());
}

HttpResponse Translations(const LibreTexts& fields, const std::vector<LanguageChoice>& languages, bool wants_report,
                          const std::vector<v1::TranslateDocumentResponse>& responses) {
  json texts = json::array(), alternatives = json::array(), detected = json::array(), reports = json::array();
  for (size_t i = 0; i < responses.size(); ++i) {
    const v1::TranslateDocumentResponse& response = responses[i];
    texts.push_back(TranslatedText(response));
    alternatives.push_back(response.alternatives());
    detected.push_back(DetectedOf(languages[i]));
    reports.push_back(wants_report ? ReportOf(response) : json());
  }
  const auto shaped = [&fields](json list) { return fields.is_list ? std::move(list) : std::move(list[0]); };
  json body = {{"translatedText", shaped(std::move(texts))}};
  if (fields.source.empty()) body["detectedLanguage"] = shaped(std::move(detected));
  if (fields.alternatives > 0) body["alternatives"] = shaped(std::move(alternatives));
  if (wants_report) body["salient"] = shaped(std::move(reports));
  return JsonReply(body);
}

// "http://HOST" as the client knows this server, or nothing where its header does not tell.
std::string OriginOf(const HttpRequest& request) {
  const std::string host = request.header("Host"), proxy = request.header("X-Forwarded-Proto");
  const bool fit = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(".-_:[]").find(c) != std::string_view::npos;
  });
  if (!fit) return "";
  return absl::StrCat(proxy == "https" ? "https" : "http", "://", host);
}

}  // namespace

bool LibreTranslate::Serves(std::string_view path) const {
  constexpr std::string_view kPaths[] = {"/translate", "/detect", "/languages", "/translate_file",
                                         "/frontend/settings"};
  return std::find(std::begin(kPaths), std::end(kPaths), path) != std::end(kPaths) || path.starts_with(kDownloads);
}

LibreTranslate::Admitted LibreTranslate::Admit(const HttpRequest& request) {
  const std::string key = KeyInTarget(request);
  Admitted caller = CallerOf(context_.host.Identify(request, key));
  if (caller.ok()) return caller;
  if (IsOpen(request) && !request.has_body()) return std::nullopt;
  if (!key.empty() || !request.header("Authorization").empty() || !request.header("X-API-Key").empty()) return caller;
  const std::string coding = request.header("Content-Encoding");
  const bool packed = !coding.empty() && !absl::EqualsIgnoreCase(coding, "identity");  // nobody knows into how much
  int64_t length = 0;
  if (!packed && absl::SimpleAtoi(request.header("Content-Length"), &length) && length > 0 &&
      length <= kLargestBodyWithKey) {
    return std::nullopt;  // Handle looks for the key in the body
  }
  return absl::UnauthenticatedError(
      "this server asks for an API key; it may be in the field api_key of a body of 64 KiB at most that is not "
      "compressed, else send it as ?api_key=KEY or as \"Authorization: Bearer KEY\"");
}

bool LibreTranslate::IsDownload(const HttpRequest& request) const { return request.path.starts_with(kDownloads); }

HttpResponse LibreTranslate::Error(const absl::Status& status) const {
  return JsonError({{"error", MessageOf(status)}}, status, /*unauthenticated=*/403);
}

LibreTranslate::Result LibreTranslate::Route(const HttpRequest& request, const HttpHandler::Reply& reply) {
  if (IsOpen(request)) {
    if (request.path == "/languages") return Answered(ListLanguages(), reply);
    return Answered(request.path == "/frontend/settings" ? Settings() : FetchFile(request), reply);
  }
  auto fields = Fields::Read(request);
  auto key = fields.ok() ? fields->String("api_key") : fields.status();  // in the body or the target
  auto call = key.ok() ? context_.host.Identify(request, *key) : key.status();
  if (!call.ok()) return Told(context_, CallOfAddress(request), Result(call.status()));
  if (request.method == "POST" && request.path == "/translate") {
    return Told(context_, *call, Translate(request, *fields, *call, reply));
  }
  if (request.method == "POST" && request.path == "/translate_file") {
    return Told(context_, *call, TranslateFile(request, *fields, *call, reply));
  }
  if (request.method == "POST" && request.path == "/detect") return Answered(Detect(*fields), reply);
  return absl::NotFoundError(absl::StrCat(request.method, " ", request.path,
                                          ": there is POST /translate, /detect, /translate_file, and GET /languages"));
}

LibreTranslate::Result LibreTranslate::Translate(const HttpRequest& request, const Fields& fields, const CallInfo& call,
                                                 const HttpHandler::Reply& reply) {
  auto controls = ReadControls(request, fields);
  if (!controls.ok()) return controls.status();
  auto read = ReadTexts(fields);
  if (!read.ok()) return read.status();
  AskForAlternatives(read->alternatives, controls->request.mutable_search());
  auto made = MakeTextRequests(context_.host.Models(), controls->request, read->source, read->target, read->texts,
                               read->markup);
  if (!made.ok()) return made.status();
  read->texts.clear();  // the requests have them
  std::string ignored = fields.OtherThan({"q", "source", "target", "format", "alternatives", "api_key", "salient"});
  const auto write = [read = *std::move(read), languages = made->languages, wants_report = controls->wants_report](
                         const auto& responses) { return Translations(read, languages, wants_report, responses); };
  return AnswerTexts(context_, call, *std::move(made), {*this, reply, std::move(ignored), write});
}

LibreTranslate::Result LibreTranslate::TranslateFile(const HttpRequest& request, const Fields& fields,
                                                     const CallInfo& call, const HttpHandler::Reply& reply) {
  auto controls = ReadControls(request, fields);
  if (!controls.ok()) return controls.status();
  auto source = fields.String("source"), target = fields.String("target");
  for (const absl::Status& status : {source.status(), target.status()}) {
    if (!status.ok()) return status;
  }
  for (const char* name : {"source", "target"}) {
    if (!fields.Has(name))
      return absl::InvalidArgumentError(absl::StrCat("Invalid request: missing ", name, " parameter"));
  }
  auto upload = ReadUpload(context_, fields.File("file"), "", *controls, *source == "auto" ? "" : *source, *target);
  if (!upload.ok()) return upload.status();
  upload->needs_no_key = true;
  const auto finished = [this, reply, origin = OriginOf(request)](const StoredDocument& document) {
    if (document.state == DocumentState::kFailed) {
      context_.documents.Remove(document.id);  // nobody learns its address
      return reply(Error(document.failure));
    }
    json body = {
        {"translatedFileUrl", absl::StrCat(origin, kDownloads, document.id, ".", UrlSafe(document.file_name))}};
    if (document.wants_report) body["salient"] = ReportOf(*document.response);
    reply(JsonReply(body));
  };
  auto started = StartUpload(context_, call, *std::move(upload), controls->wants_report, finished);
  if (started.ok()) return std::move(started->cancel);
  reply(Error(started.status()));
  return nullptr;
}

absl::StatusOr<HttpResponse> LibreTranslate::Detect(const Fields& fields) const {
  auto text = fields.String("q");
  if (!text.ok()) return text.status();
  if (text->empty()) return absl::InvalidArgumentError("Invalid request: missing q parameter");
  json found = json::array();
  for (const DetectedLanguage& one : DetectLanguages(*text, /*markup=*/false)) {
    found.push_back({{"language", one.language}, {"confidence", 100 * one.confidence}});
  }
  if (found.empty()) {  // its clients take the first one in any case
    const std::vector<std::string> sources = Languages(context_.host.Models()).sources();
    if (!sources.empty()) found.push_back({{"language", sources.front()}, {"confidence", 0.0}});
  }
  return JsonReply(found);
}

HttpResponse LibreTranslate::ListLanguages() const {
  const Languages languages(context_.host.Models());
  std::vector<std::string> codes = languages.sources(), targets = languages.targets(), all;
  std::set_union(codes.begin(), codes.end(), targets.begin(), targets.end(), std::back_inserter(all));
  json list = json::array();
  for (const std::string& code : all) {
    list.push_back({{"code", code}, {"name", LanguageName(code)}, {"targets", languages.TargetsOf(code)}});
  }
  return JsonReply(list);
}

HttpResponse LibreTranslate::Settings() const {
  json formats = json::array();
  for (const std::string& extension : AllExtensions()) formats.push_back("." + extension);
  return JsonReply({{"charLimit", -1},
                    {"suggestions", false},
                    {"filesTranslation", true},
                    {"supportedFilesFormat", std::move(formats)}});
}

absl::StatusOr<HttpResponse> LibreTranslate::FetchFile(const HttpRequest& request) {
  const std::string name = request.path.substr(sizeof(kDownloads) - 1);
  auto document = context_.documents.Find(name.substr(0, name.find('.')));
  if (!document.ok() || !document->needs_no_key || document->state != DocumentState::kDone) {
    return absl::NotFoundError("there is no such file; it may be too old");
  }
  // A download needs no key. Who shows none is known by the address.
  auto call = context_.host.Identify(request, KeyInTarget(request));
  if (!call.ok()) {
    call = CallOfAddress(request);
  }
  return Download(context_, *call, *document);
}

}  // namespace salient

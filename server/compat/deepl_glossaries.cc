// DeepL's glossaries, version 2 of them: each has one pair of languages.

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "documents/input.h"
#include "server/compat/csv.h"
#include "server/compat/deepl.h"
#include "server/compat/languages.h"
#include "server/compat/reply.h"

namespace salient {
namespace {

using nlohmann::json;

constexpr char kGlossaries[] = "/v2/glossaries", kEntries[] = "/entries";

json InfoOf(const CompatGlossary& glossary) {
  return {{"glossary_id", glossary.id},
          {"name", glossary.name},
          {"ready", true},
          {"source_lang", absl::AsciiStrToLower(glossary.source_language)},
          {"target_lang", absl::AsciiStrToLower(glossary.target_language)},
          {"creation_time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", glossary.created, absl::UTCTimeZone())},
          {"entry_count", glossary.terms}};
}

json PairsOf(const Languages& languages) {
  json pairs = json::array();
  for (const auto& [source, target] : languages.pairs()) {
    pairs.push_back({{"source_lang", source}, {"target_lang", target}});
  }
  return pairs;
}

}  // namespace

absl::Status DeepL::UseGlossary(const Fields& fields, v1::TranslateDocumentRequest* request, CallInfo* call) const {
  if (fields.Has("glossary_ids")) {
    return absl::InvalidArgumentError("glossary_ids: a request has one glossary; send glossary_id");
  }
  auto id = fields.String("glossary_id"), target = fields.String("target_lang");
  if (!id.ok() || id->empty()) return id.status();
  return context_.glossaries.Use(*id, target.value_or(""), request, call);
}

std::vector<CompatGlossary> DeepL::AllGlossaries(const std::string& client) const {
  const Languages languages(context_.host.Models());
  std::vector<CompatGlossary> all = context_.glossaries.List(client);
  for (CompatGlossary& glossary : context_.host.Glossaries()) {
    // It is for any languages. DeepL's clients want one pair, and use the glossary for that pair only.
    if (!languages.pairs().empty()) {
      std::tie(glossary.source_language, glossary.target_language) = *languages.pairs().begin();
    }
    all.push_back(std::move(glossary));
  }
  return all;
}

bool DeepL::IsOfServer(std::string_view glossary) const {
  const std::vector<CompatGlossary> all = context_.host.Glossaries();
  return std::any_of(all.begin(), all.end(), [glossary](const CompatGlossary& one) { return one.id == glossary; });
}

absl::StatusOr<HttpResponse> DeepL::Glossaries(const HttpRequest& request, const CallInfo& call) {
  const std::string& client = call.client.id();
  const bool get = request.method == "GET";
  if (get && request.path == "/v2/glossary-language-pairs") {
    return JsonReply({{"supported_languages", PairsOf(Languages(context_.host.Models()))}});
  }
  if (request.method == "POST" && request.path == kGlossaries) return MakeGlossary(request, client);
  if (get && request.path == kGlossaries) {
    json list = json::array();
    for (const CompatGlossary& glossary : AllGlossaries(client)) list.push_back(InfoOf(glossary));
    return JsonReply({{"glossaries", std::move(list)}});
  }
  absl::string_view id = request.path;
  if (!absl::ConsumePrefix(&id, absl::StrCat(kGlossaries, "/"))) {
    return absl::NotFoundError("there is /v2/glossaries, with a pair of languages each");
  }
  const bool entries = absl::ConsumeSuffix(&id, kEntries);
  if (get && !entries) {
    for (const CompatGlossary& glossary : AllGlossaries(client)) {
      if (glossary.id == id) return JsonReply(InfoOf(glossary));
    }
  } else if (get) {
    auto terms = IsOfServer(std::string(id)) ? context_.host.GlossaryTerms(std::string(id))
                                             : context_.glossaries.Terms(std::string(id), client);
    if (!terms.ok()) return terms.status();
    return FileReply(context_.host, call, "text/tab-separated-values; charset=utf-8", *terms);
  } else if (request.method == "DELETE" && !entries) {
    if (IsOfServer(std::string(id))) {
      return absl::PermissionDeniedError(
          "glossary_id: this glossary is of the server's operator, who alone removes it");
    }
    if (absl::Status status = context_.glossaries.Remove(std::string(id), client); !status.ok()) return status;
    HttpResponse response;
    response.status = 204;
    return response;
  }
  return absl::NotFoundError("glossary_id: there is no glossary of this id");
}

absl::StatusOr<HttpResponse> DeepL::MakeGlossary(const HttpRequest& request, const std::string& client) {
  auto fields = Fields::Read(request);
  if (!fields.ok()) return fields.status();
  auto name = fields->String("name"), source = fields->String("source_lang"), target = fields->String("target_lang"),
       entries = fields->String("entries"), format = fields->String("entries_format");
  for (const absl::Status& status :
       {name.status(), source.status(), target.status(), entries.status(), format.status()}) {
    if (!status.ok()) return status;
  }
  for (const auto& [field, value] : {std::pair{"name", &*name}, {"source_lang", &*source}, {"target_lang", &*target}}) {
    if (value->empty()) return absl::InvalidArgumentError(absl::StrCat(field, ": is missing"));
    if (const absl::Status status = CheckNameLength(absl::StrCat(field, ":"), *value); !status.ok()) return status;
  }
  entries->erase(0, ByteOrderMark(*entries));
  if (*format == "csv") {
    auto rows = TsvOfCsv(*entries);
    if (!rows.ok()) return absl::InvalidArgumentError(absl::StrCat("entries: ", rows.status().message()));
    *entries = *std::move(rows);
  } else if (*format != "tsv") {
    return absl::InvalidArgumentError("entries_format: is neither tsv nor csv");
  }
  const Languages languages(context_.host.Models());
  if (auto pair = languages.Choose(*source, *target, "", /*markup=*/false); !pair.ok()) return pair.status();
  auto made = context_.glossaries.Add({.name = *name, .source_language = *source, .target_language = *target}, *entries,
                                      client);
  if (!made.ok()) return made.status();
  return JsonReply(InfoOf(*made), 201);
}

}  // namespace salient

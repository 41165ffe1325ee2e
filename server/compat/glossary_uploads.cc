#include "server/compat/glossary_uploads.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "documents/language.h"
#include "documents/resources/glossary.h"
#include "documents/syntax/tsv.h"
#include "engine/base/files.h"
#include "nlohmann/json.hpp"
#include "server/compat/random_id.h"

namespace salient {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kFolder[] = "uploads", kTerms[] = ".tsv", kInfo[] = ".json";
constexpr size_t kIdDigits = 32;

absl::Status Replace(const fs::path& path, std::string_view bytes) {
  const fs::path beside = absl::StrCat(path.string(), ".part");
  std::ofstream file(beside, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code error;
  if (file) fs::rename(beside, path, error);
  if (file && !error) return absl::OkStatus();
  fs::remove(beside, error);
  return absl::InternalError("the glossary could not be stored; tell the operator of this server");
}

absl::StatusOr<int64_t> CountTerms(std::string_view terms, int64_t most) {
  const absl::Status pairs = ForEachTsvRow(terms, [](size_t line, absl::Span<const std::string_view> fields) {
    if (fields.size() == 2) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("entries: line ", line, " is not a source, a tab and its target"));
  });
  if (!pairs.ok()) return pairs;
  const absl::StatusOr<Glossary> glossary = Glossary::Parse(terms);
  if (!glossary.ok()) return absl::InvalidArgumentError(absl::StrCat("entries: ", glossary.status().message()));
  const auto count = static_cast<int64_t>(glossary->size());
  if (count == 0) return absl::InvalidArgumentError("entries: there is none");
  if (count > most) return absl::InvalidArgumentError(absl::StrCat("entries: ", count, "; at most ", most));
  return count;
}

absl::Status NoSuch() { return absl::NotFoundError("glossary_id: there is no glossary of this id"); }

}  // namespace

GlossaryUploads::GlossaryUploads(const std::string& folder, const Limits& limits)
    : folder_(folder.empty() ? fs::path() : fs::path(folder) / kFolder), limits_(limits) {}

bool GlossaryUploads::IsUpload(std::string_view id) {
  return id.size() == kIdDigits && id.find_first_not_of("0123456789abcdef") == id.npos;
}

fs::path GlossaryUploads::FileOf(const std::string& id, const char* extension) const {
  return folder_ / absl::StrCat(id, extension);
}

absl::StatusOr<CompatGlossary> GlossaryUploads::Add(CompatGlossary glossary, std::string_view terms,
                                                    const std::string& client) {
  if (folder_.empty()) {
    return absl::FailedPreconditionError(
        "this server stores no glossaries of clients; its operator may allow it with --glossary-uploads");
  }
  if (terms.size() > limits_.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("entries: ", terms.size(), " bytes; a glossary has at most ", limits_.bytes,
                     "; leave out some terms, or ask the operator of this server to offer it with --glossaries"));
  }
  const absl::StatusOr<int64_t> count = CountTerms(terms, limits_.terms);
  if (!count.ok()) return count.status();
  glossary.id = NewRandomId();
  glossary.terms = *count;
  glossary.created = absl::Now();

  const std::lock_guard lock(mutex_);
  const std::vector<Stored> all = ReadAll();
  const auto own = std::count_if(all.begin(), all.end(), [&](const Stored& one) { return one.client == client; });
  if (all.size() >= limits_.glossaries || static_cast<size_t>(own) >= limits_.of_client) {
    return absl::ResourceExhaustedError("there is no room for another glossary; delete one");
  }
  std::error_code error;
  fs::create_directories(folder_, error);
  if (absl::Status stored = Replace(FileOf(glossary.id, kTerms), terms); !stored.ok()) return stored;
  const json info = {{"name", glossary.name},
                     {"source_language", glossary.source_language},
                     {"target_language", glossary.target_language},
                     {"client", client},
                     {"created", absl::ToUnixSeconds(glossary.created)},
                     {"terms", glossary.terms}};
  const std::string bytes = info.dump(-1, ' ', false, json::error_handler_t::replace);
  if (absl::Status stored = Replace(FileOf(glossary.id, kInfo), bytes); !stored.ok()) {
    fs::remove(FileOf(glossary.id, kTerms), error);
    return stored;
  }
  return glossary;
}

std::optional<GlossaryUploads::Stored> GlossaryUploads::ReadInfo(const std::string& id) const {
  if (!IsUpload(id)) return std::nullopt;
  const json info = json::parse(ReadBytes(FileOf(id, kInfo)).value_or(""), nullptr, /*allow_exceptions=*/false);
  if (!info.is_object()) return std::nullopt;
  try {
    return Stored{{id, info.at("name"), info.at("source_language"), info.at("target_language"),
                   absl::FromUnixSeconds(info.at("created")), info.at("terms")},
                  info.at("client")};
  } catch (const json::exception&) {  // somebody else's file
    return std::nullopt;
  }
}

std::vector<GlossaryUploads::Stored> GlossaryUploads::ReadAll() const {
  std::vector<Stored> all;
  for (const fs::path file : NamesIn(folder_).value_or(std::vector<std::string>())) {
    if (file.extension() != kInfo) continue;
    if (auto stored = ReadInfo(file.stem().string())) all.push_back(*std::move(stored));
  }
  std::sort(all.begin(), all.end(), [](const Stored& a, const Stored& b) {
    return std::tie(a.glossary.created, a.glossary.id) < std::tie(b.glossary.created, b.glossary.id);
  });
  return all;
}

std::vector<CompatGlossary> GlossaryUploads::List(const std::string& client) const {
  const std::lock_guard lock(mutex_);
  std::vector<CompatGlossary> own;
  for (Stored& stored : ReadAll()) {
    if (stored.client == client) own.push_back(std::move(stored.glossary));
  }
  return own;
}

absl::StatusOr<CompatGlossary> GlossaryUploads::Find(const std::string& id, const std::string& client) const {
  const std::lock_guard lock(mutex_);
  std::optional<Stored> stored = ReadInfo(id);
  if (!stored.has_value() || stored->client != client) return NoSuch();
  return std::move(stored->glossary);
}

absl::StatusOr<std::string> GlossaryUploads::Terms(const std::string& id, const std::string& client) const {
  if (const auto found = Find(id, client); !found.ok()) return found.status();
  absl::StatusOr<std::string> terms = ReadBytes(FileOf(id, kTerms));
  if (!terms.ok()) return NoSuch();
  return terms;
}

absl::Status GlossaryUploads::Use(const std::string& id, const std::string& target_language,
                                  v1::TranslateDocumentRequest* request, CallInfo* call) const {
  if (!IsUpload(id)) {
    request->mutable_glossary()->set_name(id);
    return absl::OkStatus();
  }
  const std::lock_guard lock(mutex_);
  const std::optional<Stored> stored = ReadInfo(id);
  if (!stored.has_value() || stored->client != call->client.id()) return NoSuch();
  const std::string& language = stored->glossary.target_language;
  if (!AreSameLanguage(language, target_language)) {
    return absl::InvalidArgumentError(
        absl::StrCat("glossary_id: the glossary is for ", language, ", the request for ", target_language));
  }
  request->mutable_glossary()->clear_name();
  {
    const std::lock_guard counting(in_use_->mutex);
    ++in_use_->requests[id];
  }
  const auto release = [in_use = in_use_, info = FileOf(id, kInfo), terms = FileOf(id, kTerms)](const std::string* of) {
    const std::lock_guard releasing(in_use->mutex);
    std::error_code error;
    if (--in_use->requests[*of] == 0) {
      in_use->requests.erase(*of);
      if (!fs::exists(info, error)) fs::remove(terms, error);
    }
    delete of;
  };
  call->own_glossary = std::shared_ptr<const std::string>(new std::string(id), release);
  return absl::OkStatus();
}

absl::Status GlossaryUploads::Remove(const std::string& id, const std::string& client) {
  if (const auto found = Find(id, client); !found.ok()) return found.status();
  const std::lock_guard lock(mutex_);
  std::error_code error;
  const std::lock_guard counting(in_use_->mutex);
  fs::remove(FileOf(id, kInfo), error);
  if (!in_use_->requests.contains(id)) fs::remove(FileOf(id, kTerms), error);
  return absl::OkStatus();
}

}  // namespace salient

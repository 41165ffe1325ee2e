#include "server/request/language_resources.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "documents/formats/memory_file.h"
#include "documents/language.h"
#include "engine/base/files.h"

namespace salient {
namespace {

constexpr size_t kMostBytes = 256 << 20;
constexpr size_t kMostPairs = 64;  // of languages, whose memories are kept: a model may have thousands
constexpr char kExtension[] = ".tsv";

// A file of the operator that cannot be used stays so, whatever a client sends. `name`: without folders, which are no
// client's business.
absl::Status Unusable(std::string_view field, std::string_view name, const absl::Status& status) {
  return absl::FailedPreconditionError(absl::StrCat(std::string(field), ": the server's file ", std::string(name),
                                                    " cannot be used; tell its operator: ", status.message()));
}

DocumentLimits Limits() {
  DocumentLimits limits;
  limits.max_bytes = static_cast<int64_t>(kMostBytes);
  // Files of the server are trusted, and may be large.
  limits.max_events = std::numeric_limits<int32_t>::max();
  limits.max_units = std::numeric_limits<int32_t>::max();
  return limits;
}

// A name is one of a file in the folder: nothing that leads elsewhere.
bool IsName(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find_first_of("/\\") == name.npos && name.find('\0') == name.npos;
}

// When a file was changed; nothing: it is not there.
std::optional<std::filesystem::file_time_type> ChangeOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const auto changed = std::filesystem::last_write_time(path, error);
  return error ? std::nullopt : std::optional(changed);
}

absl::StatusOr<Glossary> ReadGlossary(const std::string& path, const std::string& file_name) {
  const absl::StatusOr<std::string> bytes = ReadBytes(path, kMostBytes);
  absl::StatusOr<Glossary> glossary = bytes.ok() ? Glossary::Parse(*bytes, Limits()) : bytes.status();
  if (!glossary.ok()) return Unusable("glossary.name", file_name, glossary.status());
  return glossary;
}

}  // namespace

absl::Status LanguageResources::Check() const {
  std::error_code error;
  if (!folder_.empty() && !std::filesystem::is_directory(folder_, error)) {
    return absl::NotFoundError(absl::StrCat("--glossaries: ", folder_, " is not a folder"));
  }
  for (const std::string& path : memories_) {
    if (const auto type = MemoryMimeTypeOfFile(path); !type.ok()) {
      return absl::Status(type.status().code(), absl::StrCat("--memory: ", type.status().message()));
    }
    if (!std::filesystem::is_regular_file(path, error)) {
      return absl::NotFoundError(absl::StrCat("--memory: ", path, " is not a file"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> LanguageResources::GlossaryNames() const {
  std::vector<std::string> names;
  if (folder_.empty()) return names;
  for (const std::filesystem::path file : NamesIn(folder_).value_or(std::vector<std::string>())) {
    if (file.extension() == kExtension) names.push_back(file.stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string LanguageResources::PathOf(const std::string& glossary) const {
  return absl::StrCat(folder_, "/", glossary, kExtension);
}

std::string LanguageResources::PathOfUpload(const std::string& id) const {
  return absl::StrCat(folder_, "/uploads/", id, kExtension);
}

absl::Time LanguageResources::GlossaryChanged(const std::string& name) const {
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(PathOf(name), error);
  return error ? absl::UnixEpoch() : absl::FromChrono(std::chrono::file_clock::to_sys(changed));
}

absl::StatusOr<std::shared_ptr<const Glossary>> LanguageResources::GlossaryNamed(const std::string& name) {
  const auto changed = IsName(name) ? ChangeOf(PathOf(name)) : std::nullopt;
  if (folder_.empty() || !changed.has_value()) {
    const std::vector<std::string> names = GlossaryNames();
    return absl::NotFoundError(absl::StrCat("glossary.name: there is no glossary '", name,
                                            "'; there are: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  return glossaries_.Get(name, *changed, [&]() -> absl::StatusOr<Glossary> {
    absl::StatusOr<Glossary> glossary = ReadGlossary(PathOf(name), absl::StrCat(name, kExtension));
    if (glossary.ok()) glossaries_.DropIf([&](const std::string& known) { return !ChangeOf(PathOf(known)); });
    return glossary;
  });
}

absl::StatusOr<std::shared_ptr<const Glossary>> LanguageResources::GlossaryOfClient(const std::string& id) {
  const auto changed = ChangeOf(PathOfUpload(id));
  if (!changed.has_value()) return absl::NotFoundError("the request's glossary is no longer there");
  return uploads_.Get(id, *changed, [&]() -> absl::StatusOr<Glossary> {
    absl::StatusOr<Glossary> glossary = ReadGlossary(PathOfUpload(id), absl::StrCat(id, kExtension));
    if (glossary.ok()) uploads_.DropIf([&](const std::string& known) { return !ChangeOf(PathOfUpload(known)); });
    return glossary;
  });
}

absl::StatusOr<std::shared_ptr<const TranslationMemory>> LanguageResources::MemoryOf(
    const std::string& source_language, const std::string& target_language) {
  if (memories_.empty()) {
    return absl::NotFoundError(
        "memory.server: this server has no translation memory; leave it out, or start the server with --memory FILE");
  }
  const std::lock_guard lock(mutex_);
  const std::pair asked(PrimaryLanguage(source_language), PrimaryLanguage(target_language));
  const auto key = [this, &asked] {
    const bool has_pair = memory_languages_.contains(asked.first) && memory_languages_.contains(asked.second);
    return has_pair ? asked : std::pair<std::string, std::string>();
  };
  if (const auto found = read_memories_.find(key()); found != read_memories_.end()) return found->second;
  if (read_memories_.size() >= kMostPairs) read_memories_.clear();
  auto read = ReadMemories(asked.first, asked.second);  // finds languages
  return read_memories_.emplace(key(), std::move(read)).first->second;
}

absl::StatusOr<std::shared_ptr<const TranslationMemory>> LanguageResources::ReadMemories(
    const std::string& source_language, const std::string& target_language) {
  auto all = std::make_shared<TranslationMemory>();
  for (auto path = memories_.rbegin(); path != memories_.rend(); ++path) {  // what is added later counts first
    const absl::StatusOr<std::string_view> mime_type = MemoryMimeTypeOfFile(*path);
    if (!mime_type.ok()) return mime_type.status();
    const absl::StatusOr<std::string> bytes = ReadBytes(*path, kMostBytes);
    const absl::StatusOr<TranslationMemory> memory =
        bytes.ok() ? TranslationMemory::Load(*bytes, *mime_type, source_language, target_language, Limits(),
                                             &memory_languages_)
                   : bytes.status();
    const std::string name = std::filesystem::path(*path).filename().string();
    if (!memory.ok()) return Unusable("memory.server", name, memory.status());
    all->Add(*memory);
  }
  return all;
}

}  // namespace salient

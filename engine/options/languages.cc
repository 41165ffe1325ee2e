#include "engine/options/languages.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/api/language_tag.h"
#include "engine/model/config.h"

namespace salient {
namespace {

constexpr size_t kMostNamed = 20;  // languages in an error

// The model's name of a language.
absl::StatusOr<std::string> NameOf(const char* field, const std::string& wanted,
                                   const std::vector<std::string>& known) {
  if (wanted.empty() && known.size() == 1) return known.front();
  const std::string* closest = ClosestLanguage(known, wanted);
  if (closest != nullptr) return *closest;
  const std::vector<std::string> named(known.begin(), known.begin() + std::min(known.size(), kMostNamed));
  return absl::InvalidArgumentError(absl::StrCat(field, wanted.empty() ? " is empty" : " is \"" + wanted + "\"",
                                                 "; this model has ", absl::StrJoin(named, ", "),
                                                 known.size() > kMostNamed ? " and others" : ""));
}

}  // namespace

absl::StatusOr<LanguagePair> ResolveLanguages(const std::string& source, const std::string& target,
                                              const ModelConfig& config) {
  if (!config.has_languages) return LanguagePair{config.source_language, {}, {}};
  const LanguagesConfig& languages = config.languages;
  absl::StatusOr<std::string> from = NameOf("source_language", source, languages.source);
  if (!from.ok()) return from.status();
  absl::StatusOr<std::string> to = NameOf("target_language", target, languages.target);
  if (!to.ok()) return to.status();
  LanguagePair pair{*from, {}, {}};
  if (languages.source_prefix == SourcePrefix::kSource) pair.source_prefix = {languages.tokens.at(*from)};
  if (languages.source_prefix == SourcePrefix::kTarget) pair.source_prefix = {languages.tokens.at(*to)};
  if (languages.target_prefix) pair.target_prefix = {languages.tokens.at(*to)};
  return pair;
}

}  // namespace salient

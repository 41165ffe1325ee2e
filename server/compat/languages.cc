#include "server/compat/languages.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "engine/base/utf8.h"
#include "unicode/locid.h"
#include "unicode/unistr.h"

namespace salient {
namespace {

std::string Normal(const std::string& code) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(absl::StripAsciiWhitespace(code), {{"_", "-"}}));
}

// The one of `codes` that `wish` means; "" if none. The same code goes before a wider one, and that before a narrower.
std::string Match(const std::vector<std::string>& codes, const std::string& wish) {
  const std::string wanted = Normal(wish);
  std::string wider, narrower;
  for (const std::string& code : codes) {
    const std::string has = Normal(code);
    if (has == wanted) return code;
    if (wider.empty() && absl::StartsWith(wanted, has + "-")) wider = code;
    if (narrower.empty() && absl::StartsWith(has, wanted + "-")) narrower = code;
  }
  return wider.empty() ? narrower : wider;
}

std::vector<std::string> Distinct(std::vector<std::string> codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

absl::Status NotThere(const std::string& what, const std::string& code, const std::vector<std::string>& there) {
  return absl::InvalidArgumentError(absl::StrCat(what, " '", code, "' is not supported; this server has ",
                                                 there.empty() ? "none" : absl::StrJoin(there, ", ")));
}

}  // namespace

bool IsLongText(std::string_view text, bool markup) {
  constexpr int kShortCharacters = 40;
  int characters = 0;
  bool in_tag = false;
  for (const char c : text) {
    if (markup && c == '<') in_tag = true;
    const bool counts = !in_tag && !ContinuesCharacter(c) && !absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (counts && ++characters > kShortCharacters) return true;
    if (c == '>') in_tag = false;
  }
  return false;
}

Languages::Languages(const v1::ListModelsResponse& models, std::string_view model) {
  for (const v1::Model& one : models.models()) {
    if (!model.empty() && one.name() != model) continue;
    for (const std::string& source : one.source_languages()) {
      for (const std::string& target : one.target_languages()) {
        if (source != target) pairs_.emplace(source, target);
      }
    }
  }
}

std::vector<std::string> Languages::sources() const {
  std::vector<std::string> codes;
  for (const auto& [source, target] : pairs_) codes.push_back(source);
  return Distinct(std::move(codes));
}

std::vector<std::string> Languages::targets() const {
  std::vector<std::string> codes;
  for (const auto& [source, target] : pairs_) codes.push_back(target);
  return Distinct(std::move(codes));
}

std::vector<std::string> Languages::TargetsOf(const std::string& from) const {
  std::vector<std::string> codes;
  for (const auto& [source, target] : pairs_) {
    if (source == from) codes.push_back(target);
  }
  return codes;
}

absl::StatusOr<LanguageChoice> Languages::Choose(const std::string& source, const std::string& target,
                                                 std::string_view text, bool markup) const {
  LanguageChoice choice;
  choice.target = Match(targets(), target);
  const bool is_target = !choice.target.empty();
  if (!is_target) choice.target = Match(sources(), target);  // of a text that is in it already
  if (choice.target.empty()) return NotThere("the target language", target, targets());
  std::vector<std::string> sources;  // of the target
  for (const auto& [one, to] : pairs_) {
    if (to == choice.target) sources.push_back(one);
  }
  if (!source.empty()) {
    choice.source = Match(sources, source);
    if (choice.source.empty() && AreSameLanguage(source, choice.target)) choice.source = choice.target;
    if (!choice.source.empty()) return choice;
    if (!is_target) return NotThere("the target language", target, targets());
    return NotThere("to this target, the source language", source, sources);
  }
  choice.detected = DetectLanguages(text, markup);
  for (const DetectedLanguage& detected : choice.detected) {
    choice.source = Match(sources, detected.language);
    if (choice.source.empty() && detected.is_reliable && AreSameLanguage(detected.language, choice.target)) {
      choice.source = choice.target;
    }
    if (!choice.source.empty()) return choice;
  }
  if (!is_target) return NotThere("the target language", target, targets());
  if (!choice.detected.empty() && choice.detected.front().is_reliable && IsLongText(text, markup)) {
    return NotThere("to this target, the detected source language", choice.detected.front().language, sources);
  }
  if (sources.size() == 1) {
    choice.source = sources.front();
    return choice;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the source language cannot be told from the text; name one of ", absl::StrJoin(sources, ", ")));
}

absl::StatusOr<LanguageChoice> Languages::Choose(const std::string& source, const std::string& target,
                                                 const Format& format, std::string_view content) const {
  const bool markup = format.name == "html" || format.name == "xml";
  auto choice = Choose(source, target, format.is_binary ? std::string_view() : content, markup);
  if (choice.ok() && choice->is_unchanged()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the document is in the target language '", choice->target, "' already"));
  }
  return choice;
}

std::string LanguageName(const std::string& code, const std::string& in) {
  icu::UnicodeString name;
  const icu::Locale locale(code.c_str()), names(in.c_str());
  locale.getDisplayName(names.isBogus() ? icu::Locale::getEnglish() : names, name);
  std::string text;
  name.toUTF8String(text);
  return text;
}

}  // namespace salient

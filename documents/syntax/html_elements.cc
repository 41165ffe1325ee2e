#include "documents/syntax/html_elements.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "documents/ascii.h"
#include "documents/language.h"

namespace salient {
namespace {

// What the root says of the page does not count: a template may have the language of whoever made it.
bool IsForeign(std::string_view text, const HtmlToken& start, std::string_view source_language) {
  if (source_language.empty() || IsOneOf(start.name, {"html", "body"})) return false;
  const std::string_view language = AttributeOf(text, start, "lang");
  return !language.empty() && !AreSameLanguage(language, source_language);
}

}  // namespace

std::string_view AttributeOf(std::string_view text, const HtmlToken& start, std::string_view name) {
  const HtmlAttribute* attribute = start.Find(name);
  if (attribute == nullptr) return "";
  return text.substr(attribute->value.begin, attribute->value.end - attribute->value.begin);
}

bool IsOpaqueElement(std::string_view name) {
  return IsOneOf(name, {"code", "kbd", "samp", "var", "math", "pre", "script", "style", "svg", "textarea", "iframe",
                        "xmp", "noembed", "noframes", "plaintext"});
}

bool IsWordElement(std::string_view name) { return IsOneOf(name, {"code", "kbd", "samp", "var", "math"}); }

bool IsKeptElement(std::string_view text, const HtmlToken& start, std::string_view source_language) {
  if (absl::EqualsIgnoreCase(std::string(AttributeOf(text, start, "translate")), "no")) return true;
  if (IsForeign(text, start, source_language)) return true;
  const std::vector<std::string> classes =
      absl::StrSplit(std::string(AttributeOf(text, start, "class")), absl::ByAnyChar(" \t\n\f\r"));
  return std::ranges::any_of(classes, [](const std::string& name) {
    return name == "notranslate" || name.starts_with("material-icons") || name.starts_with("material-symbols");
  });
}

std::optional<size_t> TagPairing::End(const std::string& name) {
  const auto open = open_.find(name);
  if (open == open_.end() || open->second.empty()) return std::nullopt;
  const size_t start = open->second.back();
  open->second.pop_back();
  return start;
}

}  // namespace salient

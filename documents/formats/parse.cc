#include <utility>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"

namespace salient {
namespace {

using Parser = ParsedDocument (*)(std::string_view bytes, const ParseOptions& options);

constexpr std::pair<std::string_view, Parser> kParsers[] = {
    {"text", ParsePlainText}, {"markdown", ParseMarkdown}, {"html", ParseHtml},        {"docx", ParseDocx},
    {"pptx", ParsePptx},      {"xlsx", ParseXlsx},         {"odt", ParseOpenDocument}, {"xliff", ParseXliff},
    {"po", ParsePo},          {"srt", ParseSubRip},        {"vtt", ParseWebVtt},       {"json", ParseJson},
    {"yaml", ParseYaml},      {"xml", ParseGenericXml}};

}  // namespace

ParsedDocument ParseDocument(const Format& format, std::string_view bytes, const ParseOptions& options) {
  for (const auto& [name, parse] : kParsers) {
    if (name == format.name) return parse(bytes, options);
  }
  return absl::InternalError(absl::StrCat("no parser for ", std::string(format.name)));
}

}  // namespace salient

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"

namespace salient {
namespace {

using Parser = ParsedDocument (*)(std::string_view bytes, const ParseOptions& options);

struct NamedParser {
  std::string_view format;
  Parser parse;
};
constexpr NamedParser kParsers[] = {
    {"text", ParsePlainText},   {"markdown", ParseMarkdown},
    {"html", ParseHtml},        {"docx", ParseDocx},
    {"pptx", ParsePptx},        {"xlsx", ParseXlsx},
    {"odt", ParseOpenDocument}, {"epub", ParseEpub},
    {"xliff", ParseXliff},      {"po", ParsePo},
    {"srt", ParseSubRip},       {"vtt", ParseWebVtt},
    {"json", ParseJson},        {"yaml", ParseYaml},
    {"xml", ParseGenericXml},
};

// Placeholders are found when a unit is finished, after a parser has counted the markup. Time and memory for a unit
// grow with the square of its markers.
absl::Status CheckUnits(const Format& format, const FormattedDocument& document, const DocumentLimits& limits) {
  const size_t most = 2 * static_cast<size_t>(limits.max_markers);  // HTML begins a new unit after max_markers
  for (const Unit& unit : document.units()) {
    if (unit.markers.size() > most) {
      return absl::ResourceExhaustedError(absl::StrCat(std::string(format.name), ": a paragraph has more than ", most,
                                                       " tags and placeholders; divide it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

ParsedDocument ParseDocument(const Format& format, std::string_view bytes, const ParseOptions& options) {
  for (const auto& [name, parse] : kParsers) {
    if (name != format.name) continue;
    ParsedDocument document = parse(bytes, options);
    if (!document.ok()) return document;
    if (absl::Status status = CheckUnits(format, **document, options.limits); !status.ok()) return status;
    return document;
  }
  return absl::InternalError(absl::StrCat("no parser for ", std::string(format.name)));
}

}  // namespace salient

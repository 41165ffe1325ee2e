// Spreadsheets: the strings of cells are translated. Numbers and formulas are not, nor the names of sheets, because
// formulas refer to them.

#include <string>

#include "documents/formats/parsers.h"
#include "documents/office_names.h"
#include "documents/runs.h"

namespace salient {
namespace {

constexpr std::string_view kTransitional = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
constexpr std::string_view kStrict = "http://purl.oclc.org/ooxml/spreadsheetml/main";

std::string PlainProperties(std::string_view properties, const std::string&, const std::string&) {
  return std::string(properties);
}

PartContent ReadStrings(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options,
                        const char* element) {
  const std::optional<std::string> prefix = PrefixOfEither(bytes, events, kTransitional, kStrict);
  if (!prefix.has_value()) return {};
  const std::string x = *prefix;
  RunNames names{x + element, x + "r", x + "rPr", x + "t"};
  names.text_tag = "<" + x + "t xml:space=\"preserve\">";
  names.outside = {x + "rPh", x + "phoneticPr"};
  names.plain_properties = PlainProperties;
  names.prefix = x;
  return {ReadRuns(bytes, events, options, names), {}};
}

PartContent ReadSharedStrings(std::string_view bytes, const std::vector<XmlEvent>& events,
                              const ParseOptions& options) {
  return ReadStrings(bytes, events, options, "si");
}

PartContent ReadSheet(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options) {
  return ReadStrings(bytes, events, options, "is");
}

PartReader ReaderOf(std::string_view name) {
  if (name == "xl/sharedStrings.xml") return ReadSharedStrings;
  return name.starts_with("xl/worksheets/sheet") && name.ends_with(".xml") ? ReadSheet : nullptr;
}

}  // namespace

ParsedDocument ParseXlsx(std::string_view bytes, const ParseOptions& options) {
  return ParsePackage(bytes, options, {"XLSX", "xl/workbook.xml", ReaderOf});
}

}  // namespace salient

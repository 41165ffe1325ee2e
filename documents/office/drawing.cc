#include "documents/office/drawing.h"

#include <optional>
#include <string>

#include "documents/office/office_names.h"
#include "documents/office/runs.h"

namespace salient {
namespace {

constexpr std::string_view kDrawingTransitional = "http://schemas.openxmlformats.org/drawingml/2006/main";
constexpr std::string_view kDrawingStrict = "http://purl.oclc.org/ooxml/drawingml/main";

std::string PlainDrawingProperties(std::string_view properties, const std::string&,
                                   const std::string& target_language) {
  std::string plain(properties);
  for (const char* name : {"lang", "altLang", "err", "dirty", "smtClean", "noProof"}) {
    plain = WithoutAttribute(plain, name);
  }
  const size_t name_end = plain.find_first_of(" \t\r\n/>");
  if (!target_language.empty()) plain.insert(name_end, " lang=\"" + EscapeXmlAttribute(target_language) + "\"");
  return plain;
}

}  // namespace

PartContent ReadDrawing(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options) {
  const std::optional<std::string> prefix = PrefixOfEither(bytes, events, kDrawingTransitional, kDrawingStrict);
  if (!prefix.has_value()) return {};
  const std::string& a = *prefix;
  RunNames names{a + "p", a + "r", a + "rPr", a + "t"};
  names.text_tag = "<" + a + "t>";
  names.outside = {a + "pPr", a + "endParaRPr"};
  names.plain_properties = PlainDrawingProperties;
  names.prefix = a;
  names.language_element = a + "rPr";
  names.language_attribute = "lang";
  return ReadRuns(bytes, events, options, names);
}

}  // namespace salient

// Presentations: the text of slides and of their notes is translated. Layouts, charts and comments are not.

#include <string>

#include "documents/formats/parsers.h"
#include "documents/office/office_names.h"
#include "documents/office/runs.h"

namespace salient {
namespace {

constexpr std::string_view kSlideTransitional = "http://schemas.openxmlformats.org/drawingml/2006/main";
constexpr std::string_view kSlideStrict = "http://purl.oclc.org/ooxml/drawingml/main";

std::string PlainSlideProperties(std::string_view properties, const std::string&, const std::string& target_language) {
  std::string plain(properties);
  for (const char* name : {"lang", "altLang", "err", "dirty", "smtClean", "noProof"}) {
    plain = WithoutAttribute(plain, name);
  }
  const size_t name_end = plain.find_first_of(" \t\r\n/>");
  if (!target_language.empty()) plain.insert(name_end, " lang=\"" + EscapeXmlAttribute(target_language) + "\"");
  return plain;
}

PartContent ReadSlidePart(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options) {
  const std::optional<std::string> prefix = PrefixOfEither(bytes, events, kSlideTransitional, kSlideStrict);
  if (!prefix.has_value()) return {};
  const std::string a = *prefix;
  RunNames names{a + "p", a + "r", a + "rPr", a + "t"};
  names.text_tag = "<" + a + "t>";
  names.outside = {a + "pPr", a + "endParaRPr"};
  names.plain_properties = PlainSlideProperties;
  names.prefix = a;
  return ReadRuns(bytes, events, options, names);
}

PartReader SlideReaderOf(std::string_view name) {
  const bool text = (name.starts_with("ppt/slides/slide") || name.starts_with("ppt/notesSlides/notesSlide")) &&
                    name.ends_with(".xml");
  return text ? ReadSlidePart : nullptr;
}

}  // namespace

ParsedDocument ParsePptx(std::string_view bytes, const ParseOptions& options) {
  return ParsePackage(bytes, options, {"PPTX", "ppt/presentation.xml", SlideReaderOf});
}

}  // namespace salient

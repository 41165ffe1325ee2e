// Word documents: body text, headers, footers, notes and what is drawn are translated. Comments, deleted text and
// formulas are not.

#include <string>

#include "documents/formats/parsers.h"
#include "documents/office/drawing.h"
#include "documents/office/office_names.h"
#include "documents/office/runs.h"

namespace salient {
namespace {

constexpr std::string_view kWordTransitional = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
constexpr std::string_view kWordStrict = "http://purl.oclc.org/ooxml/wordprocessingml/main";

std::string PlainWordProperties(std::string_view properties, const std::string& prefix, const std::string&) {
  std::string plain(properties);
  for (const char* name : {"lang", "noProof"}) plain = WithoutElement(plain, prefix + name);
  const std::string empty = "<" + prefix + "rPr></" + prefix + "rPr>";
  return plain == empty || plain == "<" + prefix + "rPr/>" ? "" : plain;
}

PartContent ReadWordPart(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options) {
  const std::optional<std::string> prefix = PrefixOfEither(bytes, events, kWordTransitional, kWordStrict);
  if (!prefix.has_value()) return {};
  const std::string w = *prefix;
  RunNames names{w + "p", w + "r", w + "rPr", w + "t"};
  names.text_tag = "<" + w + "t xml:space=\"preserve\">";
  names.outside = {w + "pPr"};
  names.dropped = {w + "proofErr", w + "lastRenderedPageBreak", w + "softHyphen"};
  names.opaque = {w + "del", w + "moveFrom"};
  names.plain_properties = PlainWordProperties;
  names.prefix = w;
  return ReadRuns(bytes, events, options, names);
}

// The document's language is a default in the styles.
PartContent ReadStyles(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options) {
  const std::optional<std::string> prefix = PrefixOfEither(bytes, events, kWordTransitional, kWordStrict);
  if (!prefix.has_value()) return {};
  return {{}, LanguageEdits(bytes, events, options, *prefix + "lang", *prefix + "val")};
}

PartReader WordReaderOf(const PackagePart& part) {
  // What may be put into the text later is not translated.
  if (part.name.find("/glossary/") != std::string::npos) return nullptr;
  if (part.kind == PartKind::kWordStyles) return ReadStyles;
  if (part.kind == PartKind::kDrawing) return ReadDrawing;
  return part.kind == PartKind::kMain || part.kind == PartKind::kWordText ? ReadWordPart : nullptr;
}

}  // namespace

ParsedDocument ParseDocx(std::string_view bytes, const ParseOptions& options) {
  return ParsePackage(bytes, options, {"DOCX", "word/document.xml", WordReaderOf});
}

}  // namespace salient

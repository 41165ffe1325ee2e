// Word documents: body text, headers, footers, notes, words of numbers and what is drawn are translated. Comments,
// deleted text and formulas are not.

#include <string>

#include "documents/ascii.h"
#include "documents/formats/parsers.h"
#include "documents/office/drawing.h"
#include "documents/office/office_names.h"
#include "documents/office/runs.h"
#include "documents/units/unit_builder.h"

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
  names.language_element = w + "lang";
  names.language_attribute = w + "val";
  names.link = w + "hyperlink";
  names.link_hint = w + "tooltip";
  return ReadRuns(bytes, events, options, names);
}

// The document's language is a default in the styles.
PartContent ReadStyles(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options) {
  const std::optional<std::string> prefix = PrefixOfEither(bytes, events, kWordTransitional, kWordStrict);
  if (!prefix.has_value()) return {};
  return {{}, LanguageEdits(bytes, events, options, *prefix + "lang", *prefix + "val")};
}

// Whether there are letters beside each other, as "1.a)" has none.
bool HasWord(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (static_cast<unsigned char>(text[at]) >= 0x80) return true;
    if (at > 0 && IsLetter(text[at - 1]) && IsLetter(text[at])) return true;
  }
  return false;
}

// The texts around numbers: <w:lvlText w:val="Chapter %1:"/>.
PartContent ReadNumbering(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options) {
  PartContent content;
  const std::optional<std::string> prefix = PrefixOfEither(bytes, events, kWordTransitional, kWordStrict);
  if (!prefix.has_value()) return content;
  const std::string level = *prefix + "lvl", format = *prefix + "numFmt", text = *prefix + "lvlText",
                    value_name = *prefix + "val";
  UnitBuilder builder(bytes, {{options.keep_terms, /*tags=*/false}});
  bool is_bullet = false;  // of the level, which tells its format first
  for (const XmlEvent& event : events) {
    if (event.kind != XmlEvent::Kind::kStart) continue;
    if (event.name == level) is_bullet = false;
    if (event.name == format) is_bullet = AttributeOf(bytes, event, value_name) == "bullet";
    if (event.name != text || is_bullet || !HasWord(AttributeText(bytes, event, value_name))) continue;
    const ByteRange value = *FindAttribute(bytes, event.range, value_name);
    size_t done = value.begin;
    for (size_t at = done; at + 1 < value.end; ++at) {
      if (bytes[at] != '%' || !IsDigit(bytes[at + 1])) continue;
      builder.AddTextWithReferences({done, at}, /*in_attribute=*/true);
      done = at + 2;
      builder.Standalone({at, done}, /*ordered=*/true, /*is_word=*/true);
    }
    builder.AddTextWithReferences({done, value.end}, /*in_attribute=*/true);
    builder.FinishEscaped(EscapeXmlAttribute, &content.units);
  }
  return content;
}

PartReader WordReaderOf(const PackagePart& part) {
  // What may be put into the text later is not translated.
  if (part.name.find("/glossary/") != std::string::npos) return nullptr;
  if (part.kind == PartKind::kWordStyles) return ReadStyles;
  if (part.kind == PartKind::kWordNumbering) return ReadNumbering;
  if (part.kind == PartKind::kDrawing) return ReadDrawing;
  return part.kind == PartKind::kMain || part.kind == PartKind::kWordText ? ReadWordPart : nullptr;
}

}  // namespace

ParsedDocument ParseDocx(std::string_view bytes, const ParseOptions& options) {
  return ParsePackage(bytes, options, {"DOCX", "word/document.xml", WordReaderOf});
}

}  // namespace salient

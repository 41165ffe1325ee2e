// OpenDocument texts, presentations and spreadsheets: paragraphs and headings, headers and footers, charts,
// titles and descriptions of pictures, values of cells.
//
// A paragraph is mixed content as in HTML: spans, links, content controls and texts with ruby are pairs of markers;
// notes, frames, tabs and breaks are single markers, and paragraphs within notes and frames are units of their own. Not
// translated: cells with numbers, annotations and tracked changes.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "documents/ascii.h"
#include "documents/formats/parsers.h"
#include "documents/office/office_names.h"
#include "documents/office/package.h"
#include "documents/units/unit_builder.h"

namespace salient {
namespace {

using Kind = XmlEvent::Kind;

constexpr std::string_view kText = "urn:oasis:names:tc:opendocument:xmlns:text:1.0";
constexpr std::string_view kOffice = "urn:oasis:names:tc:opendocument:xmlns:office:1.0";
constexpr std::string_view kTable = "urn:oasis:names:tc:opendocument:xmlns:table:1.0";
constexpr std::string_view kExtensions = "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0";
constexpr std::string_view kSvg = "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0";
constexpr std::string_view kStyle = "urn:oasis:names:tc:opendocument:xmlns:style:1.0";
constexpr std::string_view kFormatting = "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0";

class OdfReader {
 public:
  OdfReader(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options,
            const std::string& text, const std::string& office, const std::string& table, const std::string& extensions,
            const std::string& svg, const std::string& style)
      : bytes_(bytes),
        events_(events),
        text_(text),
        office_(office),
        table_(table),
        blocks_{text + "p", text + "h", svg + "title", svg + "desc"},
        pairs_{text + "span", text + "a",         text + "meta",
               text + "ruby", text + "ruby-base", extensions + "content-control"},
        most_markers_(static_cast<size_t>(options.limits.max_markers)),
        superscripts_(Superscripts(style)),
        builder_(bytes, {{options.keep_terms, /*tags=*/false}}) {}

  PartContent Read() {
    for (size_t i = 0; i < events_.size() && !content_.too_many_markers; ++i) {
      const XmlEvent& event = events_[i];
      if (event.kind != Kind::kStart) continue;
      if (event.name == text_ + "tracked-changes" || event.name == office_ + "annotation" || IsNumber(event)) {
        i = event.match;
      } else if (event.name == table_ + "table-cell" || event.name == table_ + "covered-table-cell") {
        TakeValue(i);
      } else if (std::find(blocks_.begin(), blocks_.end(), event.name) != blocks_.end()) {
        TakeContent(i);
        builder_.FinishEscaped(EscapeXml, &content_.units);
      }
    }
    return std::move(content_);
  }

 private:
  // Whether the element is a cell whose paragraph shows a number, a date or another value.
  bool IsNumber(const XmlEvent& event) const {
    const std::string_view type = AttributeOf(bytes_, event, office_ + "value-type");
    return !type.empty() && type != "string";
  }

  // A string in a cell is its value, and its paragraphs show it, or it has no attribute and the paragraphs are its
  // value. Where both have the same text, it is translated once: a changed cell has paragraphs alone. They differ where
  // the cell's format adds to the value.
  void TakeValue(size_t cell) {
    const XmlEvent& event = events_[cell];
    const std::string name = office_ + "string-value";
    const std::optional<ByteRange> value = FindAttribute(bytes_, event.range, name);
    if (!value.has_value() || FindAttribute(bytes_, event.range, table_ + "formula").has_value()) return;
    if (WithoutSpace(AttributeText(bytes_, event, name)) == WithoutSpace(ShownText(cell))) {
      const ByteRange whole{event.range.begin, events_[event.match].range.end};
      content_.edits.push_back({WholeAttribute(bytes_, *value, name), "", whole});
    } else {
      builder_.AddTextWithReferences(*value, /*in_attribute=*/true);
      builder_.FinishEscaped(EscapeXmlAttribute, &content_.units);
    }
  }

  // The text of a cell's paragraphs.
  std::string ShownText(size_t cell) const {
    std::string shown;
    for (size_t i = cell + 1; i < events_[cell].match; ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (events_[i].name == text_ + "p") {
        for (size_t k = i + 1; k < events_[i].match; ++k) shown += events_[k].text;
      }
      i = events_[i].match;
    }
    return shown;
  }

  static std::string WithoutSpace(std::string text) {
    std::erase_if(text, IsSpace);
    return text;
  }

  // The names of the styles that raise text.
  std::set<std::string_view> Superscripts(const std::string& style) const {
    std::set<std::string_view> names;
    std::string_view name;
    for (const XmlEvent& event : events_) {
      if (event.kind != Kind::kStart) continue;
      if (event.name == style + "style") name = AttributeOf(bytes_, event, style + "name");
      if (event.name != style + "text-properties") continue;
      const std::string_view position = AttributeOf(bytes_, event, style + "text-position");  // "super 58%", "33% 58%"
      const bool is_up = !position.empty() && IsDigit(position[0]) && !position.starts_with("0%");
      if (is_up || position.starts_with("super")) names.insert(name);
    }
    return names;
  }

  // What pairs the start of an element and its end.
  std::string_view NameOf(const XmlEvent& start) const {
    const bool is_raised =
        start.name == text_ + "span" && superscripts_.contains(AttributeOf(bytes_, start, text_ + "style-name"));
    return is_raised ? kSuperscript : start.name;
  }

  void TakeContent(size_t start) {
    for (size_t i = start + 1; i < events_[start].match; ++i) {
      const XmlEvent& event = events_[i];
      const bool is_pair = std::find(pairs_.begin(), pairs_.end(), event.name) != pairs_.end();
      if (event.kind == Kind::kText) {
        builder_.AddDecoded(event.range, event.text);
      } else if (event.kind == Kind::kEnd) {
        builder_.Close(event.range, NameOf(events_[event.match]));
      } else if (event.kind == Kind::kStart && is_pair && event.range.end < events_[event.match].range.end) {
        builder_.Open(event.range, NameOf(event));
      } else if (event.kind == Kind::kStart) {
        const bool ordered = event.name != text_ + "s";
        const bool breaks = event.name == text_ + "line-break" || event.name == text_ + "tab";
        if (event.name != text_ + "soft-page-break") {
          builder_.Standalone({event.range.begin, events_[event.match].range.end}, ordered, /*is_word=*/false, breaks);
        }
        i = event.match;
      }
      if (builder_.marker_count() > most_markers_) {
        content_.too_many_markers = true;
        return;
      }
    }
  }

  const std::string_view bytes_;
  const std::vector<XmlEvent>& events_;
  const std::string text_, office_, table_;  // prefixes
  const std::vector<std::string> blocks_;    // elements whose content is a unit
  const std::vector<std::string> pairs_;     // elements that are part of their sentence
  const size_t most_markers_;
  const std::set<std::string_view> superscripts_;  // names of styles
  UnitBuilder builder_;
  PartContent content_;
};

// The region of a BCP 47 tag, such as "TW" of "zh-Hant-TW"; "none", as OpenDocument has it, where it names none.
std::string OdfCountry(std::string_view tag) {
  for (size_t dash = tag.find('-'); dash != std::string_view::npos; dash = tag.find('-', dash + 1)) {
    const std::string_view part = tag.substr(dash + 1, tag.find('-', dash + 1) - dash - 1);
    const auto all = [part](bool (*is)(char)) { return std::all_of(part.begin(), part.end(), is); };
    if ((part.size() == 2 && all(IsLetter)) || (part.size() == 3 && all(IsDigit))) return std::string(part);
    if (part.size() == 1) break;  // extensions begin
  }
  return "none";
}

std::vector<Edit> OdfLanguageEdits(std::string_view bytes, const std::vector<XmlEvent>& events,
                                   const ParseOptions& options) {
  const std::optional<std::string> fo = PrefixOf(bytes, events, kFormatting);
  if (!fo.has_value()) return {};
  std::vector<Edit> edits = LanguageEdits(bytes, events, options, "", *fo + "language");
  const std::string language = options.target_language.substr(0, options.target_language.find('-'));
  const std::string country = OdfCountry(options.target_language);
  const size_t languages = edits.size();
  for (size_t i = 0, event = 0; i < languages; ++i) {
    edits[i].bytes = language;  // the country is in an attribute of its own
    while (events[event].range.end < edits[i].place.end) ++event;
    const std::optional<ByteRange> value = FindAttribute(bytes, events[event].range, *fo + "country");
    if (value.has_value()) edits.push_back({*value, country});
  }
  return edits;
}

PartContent ReadOpenDocumentPart(std::string_view bytes, const std::vector<XmlEvent>& events,
                                 const ParseOptions& options) {
  PartContent content;
  const std::optional<std::string> text = PrefixOf(bytes, events, kText), office = PrefixOf(bytes, events, kOffice);
  const std::optional<std::string> extensions = PrefixOf(bytes, events, kExtensions);
  if (text.has_value()) {
    content =
        OdfReader(bytes, events, options, *text, office.value_or("office:"),
                  PrefixOf(bytes, events, kTable).value_or("table:"), extensions.value_or("loext:"),
                  PrefixOf(bytes, events, kSvg).value_or("svg:"), PrefixOf(bytes, events, kStyle).value_or("style:"))
            .Read();
  }
  for (Edit& edit : OdfLanguageEdits(bytes, events, options)) content.edits.push_back(std::move(edit));
  for (Edit& edit : EncodingEdits(bytes)) content.edits.push_back(std::move(edit));
  return content;
}

PartReader OpenDocumentReaderOf(const PackagePart& part) {
  const std::string& name = part.name;
  // A chart is a document in a folder of its own: "Object 1/content.xml".
  const bool has_text = part.kind == PartKind::kMain || name == "styles.xml" || name.ends_with("/content.xml");
  return has_text ? ReadOpenDocumentPart : nullptr;
}

}  // namespace

ParsedDocument ParseOpenDocument(std::string_view bytes, const ParseOptions& options) {
  return ParsePackage(bytes, options, {"OpenDocument", "content.xml", OpenDocumentReaderOf});
}

}  // namespace salient

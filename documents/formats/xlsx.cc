// Spreadsheets: the strings of cells, what is drawn, and what is shown beside cells are translated. Numbers and
// formulas are not, nor the names of sheets, because formulas refer to them. For the same reason the headers of tables
// are not: they are the names of the columns. Nor are the headers of what a pivot table shows: it finds its fields by
// them.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"
#include "documents/office/character_escapes.h"
#include "documents/office/drawing.h"
#include "documents/office/office_names.h"
#include "documents/office/relationships.h"
#include "documents/office/runs.h"
#include "documents/office/table_headers.h"
#include "documents/units/unit_builder.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr std::string_view kSheetTransitional = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
constexpr std::string_view kSheetStrict = "http://purl.oclc.org/ooxml/spreadsheetml/main";

std::string PlainSheetProperties(std::string_view properties, const std::string&, const std::string&) {
  return std::string(properties);
}

// What Excel writes into cells of tables and pivot tables: the labels of totals, and of rows and columns.
PartContent ReadCaptions(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options) {
  PartContent content;
  UnitBuilder builder(bytes, {{options.keep_terms, /*tags=*/false}});
  for (const XmlEvent& event : events) {
    if (event.kind != XmlEvent::Kind::kStart) continue;
    for (const char* name : {"totalsRowLabel", "rowHeaderCaption", "colHeaderCaption", "grandTotalCaption"}) {
      const std::optional<ByteRange> value = FindAttribute(bytes, event.range, name);
      if (!value.has_value()) continue;
      builder.AddTextWithReferences(*value, /*in_attribute=*/true);
      builder.FinishEscaped(EscapeXmlAttribute, &content.units);
    }
  }
  return content;
}

// What Excel shows beside cells, and the most UTF-16 units with which it opens the file.
struct Hint {
  std::string_view element;
  const char* attribute;
  size_t most;
};
constexpr Hint kHints[] = {{"dataValidation", "promptTitle", 32},
                           {"dataValidation", "prompt", 255},
                           {"dataValidation", "errorTitle", 32},
                           {"dataValidation", "error", 255},
                           {"hyperlink", "tooltip", 255}};

std::string Shortened(std::string text, size_t most) {
  size_t count = 0, kept = 0;  // kept: bytes beside which "…" has its place
  for (size_t at = 0; at < text.size(); ++at) {
    if (ContinuesCharacter(text[at])) continue;
    if (count < most) kept = at;
    count += static_cast<unsigned char>(text[at]) < 0xf0 ? 1 : 2;
  }
  return count > most ? text.substr(0, kept) + "…" : text;
}

void ReadHints(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options,
               std::vector<PlacedUnit>* units) {
  UnitBuilder builder(bytes,
                      {{options.keep_terms, /*tags=*/false}, /*collapse_space=*/false, /*leave_out_ends=*/false});
  for (const XmlEvent& event : events) {
    if (event.kind != XmlEvent::Kind::kStart) continue;
    const std::string_view element = std::string_view(event.name).substr(event.name.find(':') + 1);
    for (const Hint& hint : kHints) {
      if (element != hint.element) continue;
      const std::optional<ByteRange> value = FindAttribute(bytes, event.range, hint.attribute);
      if (!value.has_value()) continue;
      builder.AddDecoded(*value, WithoutCharacterEscapes(AttributeText(bytes, event, hint.attribute)));
      PlacedUnit unit;
      if (!builder.Finish(&unit)) continue;
      unit.place = *value;
      unit.write = [most = hint.most](const Unit& source, const MarkedText& translation, const auto&) {
        return EscapeXmlAttribute(WithCharacterEscapes(Shortened(Flatten(source.markers, translation), most)));
      };
      units->push_back(std::move(unit));
    }
  }
}

// The strings in elements `element`, but for those that begin in one of the ranges `kept`, which are in order, and
// those that equal one of `kept_texts`.
PartContent ReadStrings(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options,
                        const std::string& x, const char* element, const std::vector<ByteRange>& kept,
                        const std::set<std::string>& kept_texts) {
  RunNames names{x + element, x + "r", x + "rPr", x + "t"};
  names.text_tag = "<" + x + "t xml:space=\"preserve\">";
  names.outside = {x + "rPh", x + "phoneticPr"};
  names.plain_properties = PlainSheetProperties;
  names.prefix = x;
  names.escapes_characters = true;
  PartContent content = ReadRuns(bytes, events, options, names);
  std::erase_if(content.units, [&kept, &kept_texts](const PlacedUnit& unit) {
    if (kept_texts.contains(Flatten(unit.unit.markers, unit.unit.source))) return true;
    const auto after = std::upper_bound(kept.begin(), kept.end(), unit.place.begin,
                                        [](size_t at, const ByteRange& range) { return at < range.begin; });
    return after != kept.begin() && unit.place.begin < std::prev(after)->end;
  });
  return content;
}

class WorkbookReader {
 public:
  explicit WorkbookReader(const DocumentLimits& limits) : limits_(limits) {}

  absl::Status FindTables(const std::vector<PackagePart>& parts, ZipArchive* archive) {
    for (const auto& [sheet, kind] : parts) {
      if (kind != PartKind::kSheet) continue;
      const auto relationships = ReadRelationships(sheet, kWhat, limits_, archive);
      if (!relationships.ok()) return relationships.status();
      for (const Relationship& relationship : *relationships) {
        if (!relationship.type.ends_with("/table") || !archive->Has(relationship.target)) continue;
        const absl::StatusOr<std::string> table = archive->Read(relationship.target);
        if (!table.ok()) return table.status();
        const auto events = ParseXml(*table, absl::StrCat(kWhat, ": ", relationship.target), limits_);
        if (!events.ok()) return events.status();
        headers_[sheet].Add(*table, *events);
      }
    }
    return absl::OkStatus();
  }

  // The fields of pivot tables, which have the names of their columns. A file does not always tell their cells.
  absl::Status FindPivotFields(const std::vector<PackagePart>& parts, ZipArchive* archive) {
    for (const auto& [name, kind] : parts) {
      if (kind != PartKind::kPivotCache) continue;
      const absl::StatusOr<std::string> cache = archive->Read(name);
      if (!cache.ok()) return cache.status();
      const auto events = ParseXml(*cache, absl::StrCat(kWhat, ": ", name), limits_);
      if (!events.ok()) return events.status();
      for (const XmlEvent& event : *events) {
        const bool is_field = event.name == "cacheField" || event.name.ends_with(":cacheField");
        if (event.kind != XmlEvent::Kind::kStart || !is_field) continue;
        kept_texts_.insert(WithoutCharacterEscapes(AttributeText(*cache, event, "name")));
      }
    }
    return absl::OkStatus();
  }

  PartReader ReaderOf(const PackagePart& part) {
    if (part.kind == PartKind::kSharedStrings) {
      return [this](auto bytes, auto& events, auto& options) { return ReadSharedStrings(bytes, events, options); };
    }
    if (part.kind == PartKind::kDrawing) return ReadDrawing;
    if (part.kind == PartKind::kTable || part.kind == PartKind::kPivotTable) return ReadCaptions;
    if (part.kind != PartKind::kSheet) return nullptr;
    return [this, sheet = part.name](auto bytes, auto& events, auto& options) {
      return ReadSheet(sheet, bytes, events, options);
    };
  }

  // A sheet without strings of its own, as Excel writes it, has all of them among the shared ones. It may be too large
  // to be read; then its hints stay.
  bool IsSkipped(const PackagePart& part, std::string_view bytes) const {
    const auto has = [bytes](std::string_view text) { return bytes.find(text) != std::string_view::npos; };
    if (part.kind != PartKind::kSheet || headers_.contains(part.name) || has("inlineStr")) return false;
    const bool has_hints = has(" prompt") || has(" error") || has(" tooltip=");
    return !has_hints || 2 * std::count(bytes.begin(), bytes.end(), '<') > limits_.max_events;
  }

  static constexpr char kWhat[] = "XLSX";

 private:
  PartContent ReadSheet(const std::string& sheet, std::string_view bytes, const std::vector<XmlEvent>& events,
                        const ParseOptions& options) {
    const std::optional<std::string> x = PrefixOfEither(bytes, events, kSheetTransitional, kSheetStrict);
    if (!x.has_value()) return {};
    const auto headers = headers_.find(sheet);
    std::vector<ByteRange> kept;
    if (headers != headers_.end()) {
      for (const size_t cell : headers->second.CellsOf(bytes, events, *x)) {
        kept.push_back({events[cell].range.begin, events[events[cell].match].range.end});
        KeepSharedString(bytes, events, *x, cell);
      }
    }
    PartContent content = ReadStrings(bytes, events, options, *x, "is", kept, kept_texts_);
    ReadHints(bytes, events, options, &content.units);
    return content;
  }

  // Remembers the string that a cell refers to: <c r="A1" t="s"><v>12</v></c>.
  void KeepSharedString(std::string_view bytes, const std::vector<XmlEvent>& events, const std::string& x,
                        size_t cell) {
    if (AttributeOf(bytes, events[cell], "t") != "s") return;
    for (size_t i = cell + 1; i < events[cell].match; ++i) {
      uint32_t number = 0;
      if (events[i].kind == XmlEvent::Kind::kStart && events[i].name == x + "v" &&
          absl::SimpleAtoi(events[i + 1].text, &number)) {
        kept_strings_.insert(number);
      }
    }
  }

  PartContent ReadSharedStrings(std::string_view bytes, const std::vector<XmlEvent>& events,
                                const ParseOptions& options) {
    const std::optional<std::string> x = PrefixOfEither(bytes, events, kSheetTransitional, kSheetStrict);
    if (!x.has_value()) return {};
    std::vector<ByteRange> kept;
    uint32_t number = 0;
    for (const XmlEvent& event : events) {
      if (event.kind != XmlEvent::Kind::kStart || event.name != *x + "si") continue;
      if (kept_strings_.contains(number++)) kept.push_back({event.range.begin, events[event.match].range.end});
    }
    return ReadStrings(bytes, events, options, *x, "si", kept, kept_texts_);
  }

  const DocumentLimits limits_;
  std::map<std::string, TableHeaders> headers_;  // by the name of the sheet
  std::set<uint32_t> kept_strings_;              // shared strings of header cells
  std::set<std::string> kept_texts_;             // names of fields of pivot tables
};

}  // namespace

ParsedDocument ParseXlsx(std::string_view bytes, const ParseOptions& options) {
  WorkbookReader reader(options.limits);
  PackageRules rules{WorkbookReader::kWhat, "xl/workbook.xml"};
  rules.reader_of = [&reader](const PackagePart& part) { return reader.ReaderOf(part); };
  rules.prepare = [&reader](const std::vector<PackagePart>& parts, ZipArchive* archive) {
    const absl::Status status = reader.FindTables(parts, archive);
    return status.ok() ? reader.FindPivotFields(parts, archive) : status;
  };
  rules.last_kind = PartKind::kSharedStrings;
  rules.is_skipped = [&reader](const PackagePart& part, std::string_view text) { return reader.IsSkipped(part, text); };
  return ParsePackage(bytes, options, rules);
}

}  // namespace salient

#include "documents/office/part_kinds.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "documents/syntax/xml_events.h"

namespace salient {
namespace {

struct KnownPart {
  PartKind kind;
  const char* type;  // how its content type ends, in all of Transitional, Strict and files with macros
  const char* name;  // how its name in the format's folder begins
};

constexpr KnownPart kKnownParts[] = {
    {PartKind::kDrawing, ".drawing+xml", "drawings/drawing"},
    {PartKind::kDrawing, ".drawingml.chartshapes+xml", "drawings/drawing"},
    {PartKind::kDrawing, ".drawingml.chart+xml", "charts/chart"},
    {PartKind::kDrawing, ".chartex+xml", "charts/chart"},
    {PartKind::kDrawing, ".drawingml.diagramData+xml", "diagrams/data"},
    {PartKind::kDrawing, ".drawingml.diagramDrawing+xml", "diagrams/drawing"},
    {PartKind::kWordText, ".wordprocessingml.header+xml", "header"},
    {PartKind::kWordText, ".wordprocessingml.footer+xml", "footer"},
    {PartKind::kWordText, ".wordprocessingml.footnotes+xml", "footnotes"},
    {PartKind::kWordText, ".wordprocessingml.endnotes+xml", "endnotes"},
    {PartKind::kWordStyles, ".wordprocessingml.styles+xml", "styles.xml"},
    {PartKind::kWordNumbering, ".wordprocessingml.numbering+xml", "numbering.xml"},
    {PartKind::kSlide, ".presentationml.slide+xml", "slides/slide"},
    {PartKind::kSlide, ".presentationml.notesSlide+xml", "notesSlides/notesSlide"},
    {PartKind::kSheet, ".spreadsheetml.worksheet+xml", "worksheets/sheet"},
    {PartKind::kSharedStrings, ".spreadsheetml.sharedStrings+xml", "sharedStrings.xml"},
    {PartKind::kTable, ".spreadsheetml.table+xml", "tables/table"},
    {PartKind::kPivotTable, ".spreadsheetml.pivotTable+xml", "pivotTables/pivotTable"},
    {PartKind::kPivotCache, ".spreadsheetml.pivotCacheDefinition+xml", "pivotCache/pivotCacheDefinition"},
};

}  // namespace

absl::StatusOr<PartKinds> PartKinds::Read(std::string_view folder, std::string_view what, const DocumentLimits& limits,
                                          ZipArchive* archive) {
  PartKinds kinds;
  kinds.folder_ = folder;
  const std::optional<std::string> list = archive->Find("[Content_Types].xml");
  if (!list.has_value()) return kinds;
  const absl::StatusOr<std::string> bytes = archive->Read(*list);
  if (!bytes.ok()) return bytes.status();
  const absl::StatusOr<std::vector<XmlEvent>> events =
      ParseXml(*bytes, absl::StrCat(std::string(what), ": ", *list), limits);
  if (!events.ok()) return events.status();
  for (const XmlEvent& event : *events) {
    const bool is_one = event.name == "Override" || event.name.ends_with(":Override");
    if (event.kind != XmlEvent::Kind::kStart || !is_one) continue;
    const std::string type(AttributeOf(*bytes, event, "ContentType"));
    const std::string name = absl::AsciiStrToLower(AttributeText(*bytes, event, "PartName"));
    for (const KnownPart& known : kKnownParts) {
      if (absl::EndsWithIgnoreCase(type, known.type)) kinds.kinds_[name.substr(name.starts_with('/'))] = known.kind;
    }
  }
  return kinds;
}

PartKind PartKinds::KindOf(std::string_view name) const {
  const auto kind = kinds_.find(absl::AsciiStrToLower(std::string(name)));
  if (kind != kinds_.end()) return kind->second;
  if (!name.starts_with(folder_) || !name.ends_with(".xml")) return PartKind::kOther;
  name.remove_prefix(folder_.size());
  for (const KnownPart& known : kKnownParts) {
    if (name.starts_with(known.name)) return known.kind;
  }
  return PartKind::kOther;
}

}  // namespace salient

#include "documents/office/relationships.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "documents/syntax/xml_events.h"

namespace salient {

std::string ResolveTarget(std::string_view folder, std::string_view target) {
  if (target.starts_with('/')) return std::string(target.substr(1));
  while (target.starts_with("../") || target.starts_with("./")) {
    if (target.starts_with("../") && !folder.empty()) {
      folder.remove_suffix(1);  // its last '/'
      folder = folder.substr(0, folder.rfind('/') + 1);
    }
    target.remove_prefix(target.find('/') + 1);
  }
  return std::string(folder).append(target);
}

absl::StatusOr<std::vector<Relationship>> ReadRelationships(std::string_view part, std::string_view what,
                                                            const DocumentLimits& limits, ZipArchive* archive) {
  const size_t name_begin = part.rfind('/') + 1;  // 0 if there is no '/'
  const std::string_view folder = part.substr(0, name_begin);
  const std::optional<std::string> name =
      archive->Find(std::string(folder) + "_rels/" + std::string(part.substr(name_begin)) + ".rels");
  std::vector<Relationship> relationships;
  if (!name.has_value()) return relationships;
  const absl::StatusOr<std::string> bytes = archive->Read(*name);
  if (!bytes.ok()) return bytes.status();
  const absl::StatusOr<std::vector<XmlEvent>> events =
      ParseXml(*bytes, absl::StrCat(std::string(what), ": ", *name), limits);
  if (!events.ok()) return events.status();
  for (const XmlEvent& event : *events) {
    const bool is_one = event.name == "Relationship" || event.name.ends_with(":Relationship");
    if (event.kind != XmlEvent::Kind::kStart || !is_one) continue;
    if (AttributeOf(*bytes, event, "TargetMode") == "External") continue;
    const std::string target = ResolveTarget(folder, AttributeOf(*bytes, event, "Target"));
    relationships.push_back({std::string(AttributeOf(*bytes, event, "Type")), archive->Find(target).value_or(target)});
  }
  return relationships;
}

}  // namespace salient

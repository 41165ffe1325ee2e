#include "documents/office/package.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "documents/office/relationships.h"

namespace salient {
namespace {

struct PatchedPart {
  std::string name;
  PatchedText text;
};

class Package final : public FormattedDocument {
 public:
  Package(std::string_view bytes, std::vector<PatchedPart> parts) : bytes_(bytes), parts_(std::move(parts)) {
    for (const PatchedPart& part : parts_) {
      for (size_t i = 0; i < part.text.unit_count(); ++i) units_.push_back(part.text.unit(i));
    }
  }

  const std::vector<Unit>& units() const override { return units_; }

  absl::StatusOr<std::string> Render(const std::vector<MarkedText>& translations) const override {
    if (absl::Status status = CheckTranslations(units_, translations); !status.ok()) return status;
    std::map<std::string, std::string> changed;
    const MarkedText* next = translations.data();
    for (const PatchedPart& part : parts_) {
      std::string rendered = part.text.Render(next);
      next += part.text.unit_count();
      if (rendered != part.text.bytes()) changed[part.name] = std::move(rendered);
    }
    return ReplaceInZip(bytes_, changed);
  }

  size_t bytes() const override {
    size_t bytes = bytes_.size() + MemoryOf(units_);
    for (const PatchedPart& part : parts_) bytes += part.name.size() + part.text.memory();
    return bytes;
  }

 private:
  const std::string bytes_;
  const std::vector<PatchedPart> parts_;
  std::vector<Unit> units_;
};

// Parts in the order of their numbers, so that slide 10 follows slide 9.
bool NumbersInOrder(const PackagePart& part, const PackagePart& other) {
  const std::string &a = part.name, &b = other.name;
  return a.size() != b.size() && a.find_first_of("0123456789") != std::string::npos &&
                 a.substr(0, a.find_first_of("0123456789")) == b.substr(0, b.find_first_of("0123456789"))
             ? a.size() < b.size()
             : a < b;
}

bool HasTooManyMarkers(const PartContent& content, const DocumentLimits& limits) {
  return content.too_many_markers ||
         std::any_of(content.units.begin(), content.units.end(), [&limits](const PlacedUnit& unit) {
           return unit.markers.size() > static_cast<size_t>(limits.max_markers);
         });
}

// The name of the main part, INVALID_ARGUMENT if there is none in the folder of the format.
absl::StatusOr<std::string> FindMainPart(const PackageRules& rules, const std::string& folder,
                                         const DocumentLimits& limits, ZipArchive* archive) {
  const auto relationships = ReadRelationships("", rules.what, limits, archive);
  if (!relationships.ok()) return relationships.status();
  for (const Relationship& relationship : *relationships) {
    if (relationship.type.ends_with("/officeDocument") && absl::StartsWithIgnoreCase(relationship.target, folder) &&
        archive->Has(relationship.target)) {
      return relationship.target;
    }
  }
  if (const std::optional<std::string> main = archive->Find(rules.needed_part)) return *main;
  return absl::InvalidArgumentError(
      absl::StrCat(rules.what, ": the archive has no ", rules.needed_part, "; it is of another format"));
}

// All parts, with what they are.
absl::StatusOr<std::vector<PackagePart>> ListParts(const PackageRules& rules, const DocumentLimits& limits,
                                                   ZipArchive* archive) {
  const std::string_view needed = rules.needed_part;
  const std::string folder(needed.substr(0, needed.rfind('/') + 1));
  const absl::StatusOr<std::string> main_part = FindMainPart(rules, folder, limits, archive);
  if (!main_part.ok()) return main_part.status();
  const absl::StatusOr<PartKinds> kinds = PartKinds::Read(folder, rules.what, limits, archive);
  if (!kinds.ok()) return kinds.status();
  std::vector<PackagePart> parts;
  for (const std::string& name : archive->names()) {
    parts.push_back({name, name == *main_part ? PartKind::kMain : kinds->KindOf(name)});
  }
  return parts;
}

}  // namespace

ParsedDocument ParsePackage(std::string_view bytes, const ParseOptions& options, const PackageRules& rules) {
  absl::StatusOr<ZipArchive> archive = ZipArchive::Open(bytes, rules.what, options.limits);
  if (!archive.ok()) return archive.status();
  absl::StatusOr<std::vector<PackagePart>> listed = ListParts(rules, options.limits, &*archive);
  if (!listed.ok()) return listed.status();
  if (rules.prepare != nullptr) {
    if (absl::Status status = rules.prepare(*listed, &*archive); !status.ok()) return status;
  }
  std::erase_if(*listed, [&rules](const PackagePart& part) { return rules.reader_of(part) == nullptr; });
  std::sort(listed->begin(), listed->end(), NumbersInOrder);
  std::stable_partition(listed->begin(), listed->end(),
                        [&rules](const PackagePart& part) { return part.kind != rules.last_kind; });
  std::vector<std::string> names;
  for (const PackagePart& part : *listed) names.push_back(part.name);
  if (absl::Status status = archive->CheckSizes(names); !status.ok()) return status;
  std::vector<PatchedPart> parts;
  size_t units = 0, run_bytes = 0;
  for (const PackagePart& part : *listed) {
    absl::StatusOr<std::string> bytes_of_part = archive->Read(part.name);
    if (!bytes_of_part.ok()) return bytes_of_part.status();
    if (rules.is_skipped != nullptr && rules.is_skipped(part, *bytes_of_part)) continue;
    const std::string what = absl::StrCat(rules.what, ": ", part.name);
    const absl::StatusOr<std::vector<XmlEvent>> events = ParseXml(*bytes_of_part, what, options.limits);
    if (!events.ok()) return events.status();
    PartContent content = rules.reader_of(part)(*bytes_of_part, *events, options);
    if (HasTooManyMarkers(content, options.limits)) {
      return absl::ResourceExhaustedError(absl::StrCat(what, ": a paragraph has more than ", options.limits.max_markers,
                                                       " changes of format, fields and objects; divide it"));
    }
    run_bytes += content.run_bytes;
    if (run_bytes > static_cast<size_t>(options.limits.max_unpacked_bytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat(what, ": the properties of the text would take more than ", options.limits.max_unpacked_bytes,
                       " bytes in the translation; give it a simpler format, or split the document"));
    }
    if (absl::Status status = CheckWhole(content.units); !status.ok()) return status;
    units += content.units.size();
    if (HasTooManyUnits(units, options.limits)) return TooManyUnits(options.limits);
    if (content.units.empty() && content.edits.empty()) continue;  // it is written as it is
    parts.push_back(
        {part.name, PatchedText(*std::move(bytes_of_part), std::move(content.units), std::move(content.edits))});
  }
  return std::make_unique<Package>(bytes, std::move(parts));
}

}  // namespace salient

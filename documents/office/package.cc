#include "documents/office/package.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "documents/office/relationships.h"

namespace salient {
namespace {

struct Part {
  std::string name;
  PatchedText text;
};

class Package final : public FormattedDocument {
 public:
  Package(std::string_view bytes, std::vector<Part> parts) : bytes_(bytes), parts_(std::move(parts)) {
    for (const Part& part : parts_) {
      for (size_t i = 0; i < part.text.unit_count(); ++i) units_.push_back(part.text.unit(i));
    }
  }

  const std::vector<Unit>& units() const override { return units_; }

  absl::StatusOr<std::string> Render(const std::vector<MarkedText>& translations) const override {
    if (absl::Status status = CheckTranslations(units_, translations); !status.ok()) return status;
    std::map<std::string, std::string> changed;
    const MarkedText* next = translations.data();
    for (const Part& part : parts_) {
      std::string rendered = part.text.Render(next);
      next += part.text.unit_count();
      if (rendered != part.text.bytes()) changed[part.name] = std::move(rendered);
    }
    return ReplaceInZip(bytes_, changed);
  }

  size_t bytes() const override {
    size_t bytes = bytes_.size() + MemoryOf(units_);
    for (const Part& part : parts_) bytes += part.name.size() + part.text.memory();
    return bytes;
  }

 private:
  const std::string bytes_;
  const std::vector<Part> parts_;
  std::vector<Unit> units_;
};

// Parts in the order of their numbers, so that slide 10 follows slide 9.
bool NumbersInOrder(const std::string& a, const std::string& b) {
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
absl::StatusOr<std::string> FindMainPart(const PackageRules& rules, const DocumentLimits& limits, ZipArchive* archive) {
  const std::string_view needed = rules.needed_part;
  const std::string_view folder = needed.substr(0, needed.rfind('/') + 1);
  const auto relationships = ReadRelationships("", rules.what, limits, archive);
  if (!relationships.ok()) return relationships.status();
  for (const Relationship& relationship : *relationships) {
    if (relationship.type.ends_with("/officeDocument") && relationship.target.starts_with(folder) &&
        archive->Has(relationship.target)) {
      return relationship.target;
    }
  }
  if (archive->Has(needed)) return std::string(needed);
  return absl::InvalidArgumentError(
      absl::StrCat(rules.what, ": the archive has no ", rules.needed_part, "; it is of another format"));
}

}  // namespace

ParsedDocument ParsePackage(std::string_view bytes, const ParseOptions& options, const PackageRules& rules) {
  absl::StatusOr<ZipArchive> archive = ZipArchive::Open(bytes, rules.what, options.limits);
  if (!archive.ok()) return archive.status();
  const absl::StatusOr<std::string> main_part = FindMainPart(rules, options.limits, &*archive);
  if (!main_part.ok()) return main_part.status();
  if (rules.prepare != nullptr) {
    if (absl::Status status = rules.prepare(&*archive); !status.ok()) return status;
  }
  std::vector<std::string> names = archive->names();
  std::sort(names.begin(), names.end(), NumbersInOrder);
  std::stable_partition(names.begin(), names.end(),
                        [&rules](const std::string& name) { return name != rules.last_part; });
  const auto reader_of = [&rules, &main_part](const std::string& name) {
    const bool is_main = name == *main_part && rules.main_part_reader != nullptr;
    return is_main ? rules.main_part_reader : rules.reader_of(name);
  };
  std::erase_if(names, [&reader_of](const std::string& name) { return reader_of(name) == nullptr; });
  if (absl::Status status = archive->CheckSizes(names); !status.ok()) return status;
  std::vector<Part> parts;
  size_t units = 0, run_bytes = 0;
  for (const std::string& name : names) {
    absl::StatusOr<std::string> part = archive->Read(name);
    if (!part.ok()) return part.status();
    if (rules.is_skipped != nullptr && rules.is_skipped(name, *part)) continue;
    const std::string what = absl::StrCat(rules.what, ": ", name);
    const absl::StatusOr<std::vector<XmlEvent>> events = ParseXml(*part, what, options.limits);
    if (!events.ok()) return events.status();
    PartContent content = reader_of(name)(*part, *events, options);
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
    parts.push_back({name, PatchedText(*std::move(part), std::move(content.units), std::move(content.edits))});
  }
  return std::make_unique<Package>(bytes, std::move(parts));
}

}  // namespace salient

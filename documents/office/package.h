// Office documents: ZIP archives in which some parts are XML with text.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "documents/document.h"
#include "documents/office/part_kinds.h"
#include "documents/patch.h"
#include "documents/syntax/xml_events.h"
#include "documents/syntax/zip_archive.h"

namespace salient {

// The content of one part. `options` has the target language for language attributes.
struct PartContent {
  std::vector<PlacedUnit> units;
  std::vector<Edit> edits;
  // The most that tags and properties of runs take where all units are written anew. A run may have one text in the
  // source and many in a translation, so it may be more than the part has.
  size_t run_bytes = 0;
  bool too_many_markers = false;  // a unit has more than max_markers; the rest of the part was not read
};
using PartReader = std::function<PartContent(std::string_view bytes, const std::vector<XmlEvent>& events,
                                             const ParseOptions& options)>;

struct PackagePart {
  std::string name;
  PartKind kind = PartKind::kOther;
};

struct PackageRules {
  const char* what;  // name of the format, for errors
  // The part that every file of the format has: the main part, if the archive's relationships do not name another one
  // in the same folder, such as word/document2.xml.
  const char* needed_part;
  // The reader of a part; none: the part is copied unchanged.
  std::function<PartReader(const PackagePart& part)> reader_of;
  // Called with all parts before they are read, if the readers must know something of other parts.
  std::function<absl::Status(const std::vector<PackagePart>& parts, ZipArchive* archive)> prepare;
  // What is read after all others, because its reader must know something of them.
  std::optional<PartKind> last_kind;
  // Whether a part has nothing to read, so that it need not be parsed; may be null.
  std::function<bool(const PackagePart& part, std::string_view bytes)> is_skipped;
};

ParsedDocument ParsePackage(std::string_view bytes, const ParseOptions& options, const PackageRules& rules);

}  // namespace salient

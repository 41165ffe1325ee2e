// Relationships in archives of Office Open XML: a part's list of the parts that it uses, and what each is to it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/syntax/zip_archive.h"

namespace salient {

struct Relationship {
  std::string type;    // an address whose last word says what the target is: ".../relationships/table"
  std::string target;  // the name of a part, as the archive has it unless it lacks the part
};

// The name of the entry that a part in `folder` ("xl/worksheets/", or "") calls `target`: "../tables/table1.xml", or
// "/xl/tables/table1.xml".
std::string ResolveTarget(std::string_view folder, std::string_view target);

// The relationships of a part, or of the archive itself if `part` is empty; none if there is no list of them. Targets
// outside the archive are left out. `what` names the document in errors, which are those of reading the list.
absl::StatusOr<std::vector<Relationship>> ReadRelationships(std::string_view part, std::string_view what,
                                                            const DocumentLimits& limits, ZipArchive* archive);

}  // namespace salient

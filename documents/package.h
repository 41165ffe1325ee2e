// Office documents: ZIP archives in which some parts are XML with text.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "documents/document.h"
#include "documents/patch.h"
#include "documents/xml_events.h"

namespace salient {

// The content of one part. `options` has the target language for language attributes.
struct PartContent {
  std::vector<PlacedUnit> units;
  std::vector<Edit> edits;
};
using PartReader = PartContent (*)(std::string_view bytes, const std::vector<XmlEvent>& events,
                                   const ParseOptions& options);

struct PackageRules {
  const char* what;         // name of the format, for errors
  const char* needed_part;  // a part that every file of the format has
  // The reader of the part of this name; nullptr: the part is copied unchanged.
  PartReader (*reader_of)(std::string_view name);
};

ParsedDocument ParsePackage(std::string_view bytes, const ParseOptions& options, const PackageRules& rules);

}  // namespace salient

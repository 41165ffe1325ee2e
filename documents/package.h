// Office documents: ZIP archives some of whose parts are XML with text in it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "documents/document.h"
#include "documents/patch.h"
#include "documents/xml_events.h"

namespace salient {

// What is found in one part. `options` says what lang is to become.
struct PartContent {
  std::vector<PlacedUnit> units;
  std::vector<Edit> edits;
};
using PartReader = PartContent (*)(std::string_view bytes, const std::vector<XmlEvent>& events,
                                   const ParseOptions& options);

struct PackageRules {
  const char* what;         // names the format in errors
  const char* needed_part;  // that every file of the format has
  // How the part of this name is read; nullptr: it is copied as it is.
  PartReader (*reader_of)(std::string_view name);
};

ParsedDocument ParsePackage(std::string_view bytes, const ParseOptions& options, const PackageRules& rules);

}  // namespace salient

// A document of some format as units of text to translate, and back.
//
//   auto document = ParseDocument(**FormatNamed("markdown"), bytes, options);
//   for (const Unit& unit : (*document)->units()) ...            // translate unit.source, keep its markers
//   auto translated = (*document)->Render(translations);         // bytes of the same format
//
// What is not translated comes back byte for byte: the document keeps its source, and Render replaces only the units
// whose translation differs from it.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/markup.h"

namespace salient {

// Bounds on what a hostile document may cost. A document beyond them is refused (RESOURCE_EXHAUSTED names the limit)
// before what they bound is read.
struct DocumentLimits {
  int64_t max_bytes = int64_t{32} << 20;            // of the document, and of any one part of an archive
  int64_t max_unpacked_bytes = int64_t{128} << 20;  // of the parts of an archive that are read, together
  int32_t max_parts = 10000;                        // entries of an archive
  int32_t max_depth = 200;                          // elements, lists or objects within each other
  int32_t max_units = 1 << 20;
  int32_t max_markers = 2000;  // of one unit
};

// Of HTML and XML: elements by their names, beyond what the format itself knows of them.
struct ElementRules {
  std::vector<std::string> keep;  // not translated, with all that is in them
  // XML alone: where a sentence ends. Where an element is in neither list, the format decides (formats/xml.cc), or, if
  // `listed_only`, it stands in the sentence.
  std::vector<std::string> block, in_text;
  bool listed_only = false;
};

struct ParseOptions {
  std::string source_language;          // BCP 47; empty: not known
  std::string target_language;          // what `lang` and its like are set to; empty: they stay
  std::vector<std::string> keep_terms;  // words that are not translated, as they are written
  ElementRules elements;
  DocumentLimits limits;
};

// Immutable; any number of threads may use it.
class FormattedDocument {
 public:
  virtual ~FormattedDocument() = default;

  // In the order of the document, but that a text within a marker (an attribute, a note) comes before or after the unit
  // that has the marker.
  virtual const std::vector<Unit>& units() const = 0;

  // translations[i] in the place of unit i. INVALID_ARGUMENT if there are more or fewer than units, or one breaks its
  // markers (CheckMarkers).
  virtual absl::StatusOr<std::string> Render(const std::vector<MarkedText>& translations) const = 0;
};

using ParsedDocument = absl::StatusOr<std::unique_ptr<FormattedDocument>>;

}  // namespace salient

// A document of any format: its units of text to translate, and the translated document.
//
//   auto document = ParseDocument(**FormatNamed("markdown"), bytes, options);
//   for (const Unit& unit : (*document)->units()) ...            // translate unit.source, keep its markers
//   auto translated = (*document)->Render(translations);         // bytes of the same format
//
// Text that is not translated is returned byte for byte: Render copies the source and replaces only the units whose
// translation differs from it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/markup.h"

namespace salient {

// Bounds on the resources that a malicious document can use. A document that exceeds a bound is refused before that
// part is read; RESOURCE_EXHAUSTED names the bound.
struct DocumentLimits {
  int64_t max_bytes = int64_t{32} << 20;            // of the document, and of any one part of an archive
  int64_t max_unpacked_bytes = int64_t{128} << 20;  // of the parts of an archive that are read, together
  int32_t max_parts = 10000;                        // number of entries of an archive
  int32_t max_depth = 200;                          // nesting of elements, lists or objects
  int32_t max_units = 1 << 20;
  int32_t max_markers = 2000;    // of one unit
  int32_t max_events = 1 << 21;  // tags, texts and comments of XML and HTML; each takes about 100 bytes of memory
};

// Rules for elements of HTML and XML, by name, in addition to the rules of the format.
struct ElementRules {
  std::vector<std::string> keep;  // elements that are not translated, nor their content
  // XML only: elements that end a sentence, and elements that are part of one. For other elements the format decides
  // (formats/xml.cc), or, with `listed_only`, they are part of the sentence.
  std::vector<std::string> block, in_text;
  bool listed_only = false;
  bool keep_line_breaks = false;  // XML only: as if xml:space="preserve" were around the document
};

inline constexpr size_t kLongestKeptTerm = 200;  // bytes; longer ones of ParseOptions are left out

inline constexpr size_t kMostUnitText = size_t{16} << 20;  // bytes of a unit's text; a document with more is refused

struct ParseOptions {
  std::string source_language;          // BCP 47; empty: not known
  std::string target_language;          // new value of `lang` and similar attributes; empty: unchanged
  std::vector<std::string> keep_terms;  // words that are not translated, in exactly this spelling
  ElementRules elements;
  bool lines = false;  // of plain text: each line is a unit, and not each sentence
  DocumentLimits limits;
};

// Immutable and thread safe.
class FormattedDocument {
 public:
  virtual ~FormattedDocument() = default;

  // In the order of the document. A text inside a marker (an attribute, a note) is a unit of its own, before or after
  // the unit that has the marker.
  virtual const std::vector<Unit>& units() const = 0;

  // The document with translations[i] in place of unit i. INVALID_ARGUMENT if their number differs from that of the
  // units, or if one has invalid markers (CheckMarkers).
  virtual absl::StatusOr<std::string> Render(const std::vector<MarkedText>& translations) const = 0;

  // About how many bytes of memory it takes: its text, of an archive also the unpacked parts that are kept, and the
  // units.
  virtual size_t bytes() const = 0;
};

using ParsedDocument = absl::StatusOr<std::unique_ptr<FormattedDocument>>;

}  // namespace salient

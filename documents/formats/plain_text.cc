// Plain text: a unit is a sentence as SplitDocument finds it, so that hard-wrapped paragraphs and lists are seen as
// what they are. Placeholders and addresses are markers.

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <string>

#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/unit_builder.h"
#include "engine/text/document.h"

namespace salient {

namespace {

// Behind the white space at `at`: what SplitDocument takes for it.
size_t SpaceEnd(std::string_view text, size_t at) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  while (at < text.size()) {
    size_t next = at;
    UChar32 c;
    U8_NEXT(bytes, next, text.size(), c);
    if (!u_isUWhiteSpace(c) && c != 0xfeff && c != 0x200b) break;
    at = next;
  }
  return at;
}

}  // namespace

ParsedDocument ParsePlainText(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "text", options.limits); !status.ok()) return status;
  const absl::StatusOr<SegmentedDocument> document =
      SplitDocument(bytes, Segmentation::kSentences, options.source_language);
  if (!document.ok()) return document.status();
  UnitBuilder builder(bytes, {{options.keep_terms, /*tags=*/false}, /*collapse_space=*/false});
  std::vector<PlacedUnit> units;
  size_t at = 0;
  for (const Segment& segment : document->segments) {
    at += segment.glue.size();
    // The text is that of the bytes, but that a line break with the white space around it became a space.
    for (size_t i = 0; i < segment.text.size();) {
      size_t same = 0;
      while (i + same < segment.text.size() && at + same < bytes.size() && bytes[at + same] == segment.text[i + same]) ++same;
      if (same > 0 && i + same < segment.text.size() && segment.text[i + same - 1] == ' ') --same;
      builder.AddText({at, at + same});
      i += same;
      at += same;
      if (i == segment.text.size()) break;
      const size_t next = SpaceEnd(bytes, at);
      builder.AddDecoded({at, next}, " ");
      at = next;
      ++i;
    }
    PlacedUnit unit;
    if (!builder.Finish(&unit)) continue;
    unit.unit.starts_paragraph = segment.starts_paragraph;
    unit.write = WriteEscaped([](std::string_view text) { return std::string(text); });
    units.push_back(std::move(unit));
  }
  return MakePatchedDocument(PatchedText(std::string(bytes), std::move(units), {}), options.limits);
}

}  // namespace salient

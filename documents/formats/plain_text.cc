// Plain text: a unit is a sentence, found by SplitDocument, which also recognises hard-wrapped paragraphs and lists, or
// a line. Sentences without a space between them, as in Chinese, are one unit. Placeholders and addresses are markers.

#include <string>
#include <utility>
#include <vector>

#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/units/unit_builder.h"
#include "documents/units/wrapped_text.h"
#include "engine/text/document.h"

namespace salient {

ParsedDocument ParsePlainText(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "text", options.limits); !status.ok()) return status;
  const absl::StatusOr<SegmentedDocument> document =
      SplitDocument(bytes, options.lines ? Segmentation::kLines : Segmentation::kSentences, options.source_language);
  if (!document.ok()) return document.status();
  UnitBuilder builder(bytes, {{options.keep_terms, /*tags=*/false}, /*collapse_space=*/false});
  std::vector<PlacedUnit> units;
  const auto finish = [&](bool starts_paragraph) {
    PlacedUnit unit;
    if (!builder.Finish(&unit)) return;
    unit.unit.starts_paragraph = starts_paragraph;
    unit.write = WriteEscaped([](std::string_view text) { return std::string(text); });
    units.push_back(std::move(unit));
  };
  size_t at = 0;
  bool starts_paragraph = false;
  for (const Segment& segment : document->segments) {
    if (!segment.glue.empty()) finish(starts_paragraph);
    if (builder.empty()) starts_paragraph = segment.starts_paragraph;
    at += segment.glue.size();
    at = WalkSegment(bytes, at, segment.text, [&builder](ByteRange range, bool is_literal) {
      if (is_literal) {
        builder.AddText(range);
      } else {
        builder.AddDecoded(range, " ");
      }
    });
  }
  finish(starts_paragraph);
  return MakePatchedDocument(PatchedText(std::string(bytes), std::move(units), {}), options.limits);
}

}  // namespace salient

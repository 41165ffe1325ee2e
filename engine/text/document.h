// A document as bytes and as segments, and back: nothing between the segments is lost.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/api/request.h"

namespace salient {

// One unit of translation, with what stands before it in the document: white space, line breaks, and stretches without
// a letter, which are copied and not translated.
struct Segment {
  std::string glue;               // verbatim text between the previous segment and this one
  std::string text;               // not empty; no line break and no white space at either end
  bool starts_paragraph = false;  // an empty line, or the document's beginning, stands before it
};

struct SegmentedDocument {
  std::vector<Segment> segments;
  std::string tail;  // after the last segment; the whole document if there is nothing to translate
};

// Splits UTF-8 text. Joining every glue and text and the tail gives the document back, byte for byte.
// INVALID_ARGUMENT with the byte offset where the text is not UTF-8 or holds a NUL.
//
// kSentences: ICU sentence boundaries for `language`, less those after abbreviations, within lines that belong
// together; a line break inside a sentence becomes a space in `text` only if the paragraph is hard-wrapped, in which
// case it is the one thing that is not restored. Bullets, numbers and quotation marks such as "- ", "1. " and "> " at
// the start of a line are glue. kLines: one segment a line, with all that stands in it.
absl::StatusOr<SegmentedDocument> SplitDocument(std::string_view text, Segmentation segmentation,
                                                const std::string& language);

// `translations[i]` in the place of segment i. Where the source needs no space between two sentences (Chinese, Japanese)
// and the translation does, it gets one.
std::string JoinDocument(const SegmentedDocument& document, const std::vector<std::string>& translations);

}  // namespace salient

// Splits a document into segments and joins translations to a document. Text between segments is kept.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/api/request.h"
#include "engine/text/substitutions.h"

namespace salient {

// A unit of translation, and the text before it that is copied and not translated (glue): white space, line breaks, and
// stretches without letters.
struct Segment {
  std::string glue;               // verbatim text between the previous segment and this one
  std::string text;               // not empty; no line break and no white space at either end
  bool starts_paragraph = false;  // after an empty line or at the beginning of the document
  // From `text` to the text that the model reads. SplitDocument makes none (copier.h does).
  std::vector<Substitution> substitutions;
};

// Whether a character may be around a segment but never at its ends: white space, byte order marks, zero-width spaces.
bool IsSegmentSpace(char32_t c);

// Of a document. Each takes some hundred bytes until the translation is over, whatever its text is.
inline constexpr size_t kMaxSegments = 1 << 18;

struct SegmentedDocument {
  std::vector<Segment> segments;
  std::string tail;  // after the last segment; the whole document if there is nothing to translate
};

// Splits UTF-8 text. All glues and texts in order, followed by the tail, are the document, byte for byte.
// INVALID_ARGUMENT with the byte offset if the text is not UTF-8 or contains a NUL; and if there are more than
// kMaxSegments segments.
//
// kSentences: ICU sentence boundaries for `language`, except those after abbreviations, and tabs, within the lines of a
// paragraph. If a paragraph is hard-wrapped, a line break inside a sentence becomes a space in `text`; this is the only
// change that is not restored. Bullets, numbers and quotation marks such as "- ", "1. " and "> " at the start of a line
// are glue. kLines: each line is a segment.
//
// Thread safe. A thread keeps ICU's rules for the language of its last call with kSentences, so many calls for short
// texts of one language cost little more than one for all of them.
absl::StatusOr<SegmentedDocument> SplitDocument(std::string_view text, Segmentation segmentation,
                                                const std::string& language);

// Whether a character is wide, as those of Chinese and Japanese, which put no space between words.
bool IsWide(char32_t c);

// Whether the last character before closing quotes and brackets is wide, as in Chinese and Japanese, which put no space
// after a sentence.
bool EndsWide(std::string_view text);

// The document with translations[i] in place of segment i. A space goes between two segments if the source text has
// none because its script needs none (Chinese, Japanese), but the translation's script does. Appends to `begins`, if
// not null, the byte at which each translation begins.
std::string JoinDocument(const SegmentedDocument& document, const std::vector<std::string>& translations,
                         std::vector<size_t>* begins = nullptr);

}  // namespace salient

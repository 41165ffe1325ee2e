// The common part of SubRip and WebVTT: cues of a few lines with times.
//
// If a sentence continues in the next cue, both cues are one unit, and the bytes between them are an ordered marker.
// Line breaks in a cue become spaces, except before a line of another speaker or of a song. Behind tags and "{\an8}"
// such a line begins with a dash, ">>", "[Name]", "NAME:", "♪" or, in WebVTT, `<v Name>`. The signs ">>", "♪" and
// "{\an8}" are markers. A changed cue gets new line breaks: as few lines as possible, of similar length, with at most
// 42 characters or as long as the source's longest line.

#pragma once

#include <string_view>
#include <vector>

#include "documents/document.h"
#include "documents/patch.h"

namespace salient {

// `cues`: the texts of the cues, without the line break at the end. `references`: whether "&amp;" and its like are
// escapes, as in WebVTT.
std::vector<PlacedUnit> MakeSubtitleUnits(std::string_view bytes, const std::vector<ByteRange>& cues, bool references,
                                          const ParseOptions& options);

// Lines of `bytes`, without their line breaks.
std::vector<ByteRange> LinesOf(std::string_view bytes, size_t begin);

}  // namespace salient

// What SubRip and WebVTT have in common: cues of a few lines between times.
//
// A sentence that goes on in the next cue is one unit with it, and what stands between the two is a marker that keeps
// its place. Line breaks in a cue are spaces but before another speaker's dash. A changed cue is broken anew into as
// few lines of at most 42 characters as hold it, of about one length; where the source has longer lines, into lines as
// long as its longest.

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

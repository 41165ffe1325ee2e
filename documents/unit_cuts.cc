#include "documents/unit_cuts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "documents/characters.h"
#include "documents/wrapped_text.h"
#include "engine/text/document.h"

namespace salient {
namespace {

// No abbreviation, no initial, and the beginning of a sentence if it is after the end of one.
constexpr std::string_view kStandIn = "Word";

// The part as the splitter shall see it.
struct SplitText {
  struct StandIn {
    size_t at = 0;     // its first byte in `text`
    size_t place = 0;  // which of the unit's places it stands for
  };
  std::string text;
  std::vector<StandIn> stand_ins;  // left to right
  size_t begin = 0;                // of the part, in the unit's text

  // How many stand-ins begin at byte `at` or before it.
  size_t CountUpTo(size_t at) const {
    const auto begins_after = [](size_t byte, const StandIn& stand_in) { return byte < stand_in.at; };
    return std::upper_bound(stand_ins.begin(), stand_ins.end(), at, begins_after) - stand_ins.begin();
  }

  // The stand-in that has byte `at`; null if the unit's text has that byte.
  const StandIn* StandInAt(size_t at) const {
    const size_t count = CountUpTo(at);
    return count > 0 && at < stand_ins[count - 1].at + kStandIn.size() ? &stand_ins[count - 1] : nullptr;
  }

  // The place of byte `at` in the unit's text; of a stand-in that of its marker.
  size_t OriginOf(size_t at) const {
    const StandIn* stand_in = StandInAt(at);
    if (stand_in == nullptr) return begin + at - CountUpTo(at) * kStandIn.size();
    return begin + stand_in->at - (stand_in - stand_ins.data()) * kStandIn.size();
  }
};

SplitText WithStandIns(const Unit& unit, const UnitPart& part) {
  const std::string& source = unit.source.text;
  SplitText split;
  split.begin = part.range.begin;
  size_t done = part.range.begin;
  for (size_t i = part.first_place; i < part.end_place; ++i) {
    const MarkerPlace& place = unit.source.places[i];
    if (!unit.markers[place.marker].is_word) continue;
    split.text.append(source, done, place.at - done);
    split.stand_ins.push_back({split.text.size(), i});
    split.text.append(kStandIn);
    done = place.at;
  }
  split.text.append(source, done, part.range.end - done);
  return split;
}

}  // namespace

absl::StatusOr<std::vector<UnitCut>> CutPart(const Unit& unit, const UnitPart& part, Segmentation segmentation,
                                             const std::string& language) {
  const SplitText split = WithStandIns(unit, part);
  absl::StatusOr<SegmentedDocument> document = SplitDocument(split.text, segmentation, language);
  if (!document.ok()) return document.status();
  std::vector<UnitCut> cuts;
  bool starts_paragraph = false;
  size_t at = 0;
  for (const Segment& segment : document->segments) {
    at += segment.glue.size();
    starts_paragraph = starts_paragraph || segment.starts_paragraph;
    UnitCut cut;
    if (const auto* stand_in = split.StandInAt(at); stand_in != nullptr) cut.opening_place = stand_in->place;
    cut.range.begin = split.OriginOf(at);
    at = WalkSegment(split.text, at, segment.text, [&](ByteRange range, bool is_literal) {
      if (!is_literal) return cut.cut.Add(' ', split.OriginOf(range.begin));
      for (size_t byte = range.begin; byte < range.end; ++byte) {
        if (split.StandInAt(byte) == nullptr) cut.cut.Add(split.text[byte], split.OriginOf(byte));
      }
    });
    cut.range.end = split.OriginOf(at - 1) + (split.StandInAt(at - 1) == nullptr ? 1 : 0);
    if (!HasLetter(cut.cut.text)) continue;  // it is left between the others, with its markers
    cut.starts_paragraph = std::exchange(starts_paragraph, false);
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

}  // namespace salient

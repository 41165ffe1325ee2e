#include "documents/segments/unit_cuts.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/units/wrapped_text.h"
#include "engine/text/document.h"

namespace salient {
namespace {

// No abbreviation, no initial, and the beginning of a sentence if it is after the end of one.
constexpr std::string_view kStandIn = "Word";

// "The house" does, "NET" of "ASP.NET" does not.
bool BeginsWithCapital(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto size = static_cast<int32_t>(std::min<size_t>(text.size(), 8));
  UChar32 first = 0, second = 0;
  int32_t at = 0;
  if (at < size) U8_NEXT(bytes, at, size, first);
  if (at < size) U8_NEXT(bytes, at, size, second);
  return u_isupper(first) && !u_isupper(second);
}

constexpr size_t kNoPlace = static_cast<size_t>(-1);

// The part as the splitter shall see it, with the place of each byte in the unit's text. A stand-in's is its marker's.
struct SplitText {
  CutText seen;
  std::vector<size_t> stand_in;  // for each byte, which of the unit's places it stands for; kNoPlace: the unit has it

  void Add(char c, size_t at, size_t place) {
    seen.Add(c, at);
    stand_in.push_back(place);
  }
};

// Whether a pair ends at this place and another begins, between two sentences: "<b>Save it.</b><b>Then close it.</b>".
// Without a space the splitter would take them for one.
bool EndsSentenceAt(const Unit& unit, const UnitPart& part, size_t i) {
  if (i + 1 >= part.end_place) return false;
  const MarkerPlace &closing = unit.source.places[i], &opening = unit.source.places[i + 1];
  const std::string& text = unit.source.text;
  const size_t at = closing.at;
  if (opening.at != at || at <= part.range.begin || at >= part.range.end) return false;
  return unit.markers[closing.marker].kind == MarkerKind::kClose &&
         unit.markers[opening.marker].kind == MarkerKind::kOpen && IsOneOf(text[at - 1], ".!?") &&
         BeginsWithCapital(std::string_view(text).substr(at));
}

SplitText SplitWithStandIns(const Unit& unit, const UnitPart& part) {
  SplitText split;
  size_t done = part.range.begin;
  const auto copy_to = [&](size_t end) {
    for (; done < end; ++done) split.Add(unit.source.text[done], done, kNoPlace);
  };
  for (size_t i = part.first_place; i < part.end_place; ++i) {
    const MarkerPlace& place = unit.source.places[i];
    if (EndsSentenceAt(unit, part, i)) {
      copy_to(place.at);
      split.Add(' ', place.at, i);
    }
    if (!unit.markers[place.marker].is_word) continue;
    copy_to(place.at);
    for (const char c : kStandIn) split.Add(c, place.at, i);
  }
  copy_to(part.range.end);
  return split;
}

}  // namespace

absl::StatusOr<std::vector<UnitCut>> CutPart(const Unit& unit, const UnitPart& part, Segmentation segmentation,
                                             const std::string& language) {
  const SplitText split = SplitWithStandIns(unit, part);
  const std::string& text = split.seen.text;
  const std::vector<size_t>& origin = split.seen.origin;
  absl::StatusOr<SegmentedDocument> document = SplitDocument(text, segmentation, language);
  if (!document.ok()) return document.status();
  std::vector<UnitCut> cuts;
  bool starts_paragraph = false;
  size_t at = 0;
  for (const Segment& segment : document->segments) {
    at += segment.glue.size();
    starts_paragraph = starts_paragraph || segment.starts_paragraph;
    UnitCut cut;
    if (split.stand_in[at] != kNoPlace) cut.opening_place = split.stand_in[at];
    cut.range.begin = origin[at];
    at = WalkSegment(text, at, segment.text, [&](ByteRange range, bool is_literal) {
      if (!is_literal) return cut.cut.Add(' ', origin[range.begin]);
      for (size_t byte = range.begin; byte < range.end; ++byte) {
        if (split.stand_in[byte] == kNoPlace) cut.cut.Add(text[byte], origin[byte]);
      }
    });
    cut.range.end = origin[at - 1] + (split.stand_in[at - 1] == kNoPlace ? 1 : 0);
    if (!HasLetter(cut.cut.text)) continue;  // it is left between the others, with its markers
    cut.starts_paragraph = std::exchange(starts_paragraph, false);
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

}  // namespace salient

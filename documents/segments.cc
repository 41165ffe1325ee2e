#include "documents/segments.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "documents/wrapped_text.h"
#include "engine/text/document.h"

namespace salient {
namespace {

bool IsWordByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
}

// The text as a model shall see it, without the markers: where one stood between two words they stay two, and where it
// had white space on both sides one of it is enough.
std::string WithoutMarkers(const Unit& unit, ByteRange range) {
  const std::string& text = unit.source.text;
  std::string seen;
  auto place = unit.source.places.begin();
  for (size_t at = range.begin; at < range.end; ++at) {
    bool marker = false;
    for (; place != unit.source.places.end() && place->at <= at; ++place) {
      marker = marker || (place->at == at && unit.markers[place->marker].kind == MarkerKind::kStandalone);
    }
    const bool between_words = marker && !seen.empty() && IsWordByte(seen.back()) && IsWordByte(text[at]);
    if (between_words) seen.push_back(' ');
    if (marker && text[at] == ' ' && (seen.empty() || seen.back() == ' ')) continue;
    seen.push_back(text[at]);
  }
  return seen;
}

}  // namespace

absl::StatusOr<UnitSegments> UnitSegments::Create(const std::vector<Unit>& units, const std::string& source_language) {
  UnitSegments segments;
  segments.units_ = units;
  for (size_t u = 0; u < units.size(); ++u) {
    const std::string& text = units[u].source.text;
    absl::StatusOr<SegmentedDocument> cut = SplitDocument(text, Segmentation::kSentences, source_language);
    if (!cut.ok()) return cut.status();
    size_t at = 0;
    for (const Segment& segment : cut->segments) {
      at += segment.glue.size();
      Place place{u, {at, at}};
      bool same = true;
      at = WalkSegment(text, at, segment.text, [&same](ByteRange, bool is_literal) { same = same && is_literal; });
      place.range.end = at;
      segments.texts_.push_back(same ? WithoutMarkers(units[u], place.range) : segment.text);
      segments.places_.push_back(place);
    }
  }
  return segments;
}

std::string UnitSegments::lines() const {
  std::string lines;
  for (size_t i = 0; i < texts_.size(); ++i) {
    const bool new_unit = i > 0 && places_[i].unit != places_[i - 1].unit;
    if (new_unit && units_[places_[i].unit].starts_paragraph) lines.push_back('\n');
    lines.append(texts_[i]).push_back('\n');
  }
  return lines;
}

std::vector<MarkedText> UnitSegments::Join(const std::vector<std::string>& translations,
                                           const std::vector<Alignment>& alignments) const {
  std::vector<MarkedText> joined;
  size_t segment = 0;
  for (size_t u = 0; u < units_.size(); ++u) {
    const size_t first = segment;
    while (segment < places_.size() && places_[segment].unit == u) ++segment;
    joined.push_back(JoinUnit(u, first, segment, translations, alignments));
  }
  return joined;
}

MarkedText UnitSegments::JoinUnit(size_t unit, size_t first, size_t end, const std::vector<std::string>& translations,
                                  const std::vector<Alignment>& alignments) const {
  const Unit& source = units_[unit];
  const std::string& text = source.source.text;
  std::string translated;
  Alignment alignment;
  bool changed = false;
  size_t done = 0;
  const auto copy = [&](size_t to) {  // what stands between segments is aligned with itself
    const std::string_view glue = std::string_view(text).substr(done, to - done);
    const Alignment same = AlignByPlace(glue, glue);
    AppendAlignment(same, done, translated.size(), &alignment);
    translated.append(glue);
    done = to;
  };
  for (size_t i = first; i < end; ++i) {
    const ByteRange range = places_[i].range;
    copy(range.begin);
    if (translations[i] == texts_[i]) {
      copy(range.end);
      continue;
    }
    changed = true;
    const std::string_view from = std::string_view(text).substr(range.begin, range.end - range.begin);
    const bool given = i < alignments.size() && !alignments[i].target.empty() && from == texts_[i];
    AppendAlignment(given ? alignments[i] : AlignByPlace(from, translations[i]), range.begin, translated.size(),
                    &alignment);
    translated.append(translations[i]);
    done = range.end;
  }
  if (!changed) return source.source;
  copy(text.size());
  return ProjectMarkers(source, translated, alignment);
}

}  // namespace salient

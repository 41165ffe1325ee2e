#include "documents/segments/unit_parts.h"

#include <string>
#include <utility>

#include "documents/markers/projection.h"

namespace salient {
namespace {

// A part as a unit of its own. A half of a pair whose other half is in another part gets a stand-in for that half.
struct PartUnit {
  Unit unit;
  std::vector<int32_t> of_whole;  // of each marker its index in the whole unit; -1: a stand-in

  void Add(Marker marker, size_t at, int32_t index) {
    unit.source.places.push_back({at, static_cast<int32_t>(of_whole.size())});
    unit.markers.push_back(std::move(marker));
    of_whole.push_back(index);
  }
};

std::string_view TextOf(const Unit& unit, const UnitPart& part) {
  return std::string_view(unit.source.text).substr(part.range.begin, part.range.end - part.range.begin);
}

PartUnit WithStandIns(const Unit& unit, const UnitPart& part) {
  std::vector<int32_t> unopened, unclosed;  // ids
  for (size_t i = part.first_place; i < part.end_place; ++i) {
    const Marker& marker = unit.markers[unit.source.places[i].marker];
    if (marker.kind == MarkerKind::kOpen) {
      unclosed.push_back(marker.id);
    } else if (marker.kind == MarkerKind::kClose && !unclosed.empty()) {
      unclosed.pop_back();
    } else if (marker.kind == MarkerKind::kClose) {
      unopened.push_back(marker.id);
    }
  }
  PartUnit made;
  made.unit.source.text = TextOf(unit, part);
  for (size_t i = unopened.size(); i-- > 0;) made.Add({MarkerKind::kOpen, unopened[i]}, 0, -1);
  for (size_t i = part.first_place; i < part.end_place; ++i) {
    const MarkerPlace& place = unit.source.places[i];
    made.Add(unit.markers[place.marker], place.at - part.range.begin, place.marker);
  }
  for (size_t i = unclosed.size(); i-- > 0;) {
    made.Add({MarkerKind::kClose, unclosed[i]}, made.unit.source.text.size(), -1);
  }
  return made;
}

// The part with markers that all keep the order of the source.
PartUnit AllOrdered(const Unit& unit, const UnitPart& part) {
  PartUnit made;
  made.unit.source.text = TextOf(unit, part);
  for (size_t i = part.first_place; i < part.end_place; ++i) {
    const MarkerPlace& place = unit.source.places[i];
    Marker marker = unit.markers[place.marker];
    marker.kind = MarkerKind::kStandalone;
    marker.ordered = true;
    made.Add(std::move(marker), place.at - part.range.begin, place.marker);
  }
  return made;
}

MarkedText Project(const PartUnit& part, std::string_view translation, const Alignment& alignment) {
  MarkedText projected = ProjectMarkers(part.unit, translation, alignment);
  std::vector<MarkerPlace> places;
  for (const MarkerPlace& place : projected.places) {
    const int32_t marker = part.of_whole[place.marker];
    if (marker >= 0) places.push_back({place.at, marker});
  }
  projected.places = std::move(places);
  return projected;
}

// Whether what opens in the part closes in it in the right order. Pairs of other parts close only outside of these.
bool Nests(const std::vector<Marker>& markers, const MarkedText& part) {
  std::vector<int32_t> open;
  for (const MarkerPlace& place : part.places) {
    const Marker& marker = markers[place.marker];
    if (marker.kind == MarkerKind::kOpen) open.push_back(marker.id);
    if (marker.kind != MarkerKind::kClose || open.empty()) continue;
    if (open.back() != marker.id) return false;
    open.pop_back();
  }
  return true;
}

}  // namespace

std::vector<UnitPart> PartsOf(const Unit& unit) {
  const std::vector<MarkerPlace>& places = unit.source.places;
  std::vector<UnitPart> parts(1);
  for (size_t i = 0; i < places.size(); ++i) {
    if (!unit.markers[places[i].marker].breaks) continue;
    parts.back().range.end = places[i].at;
    parts.back().end_place = i;
    parts.push_back({{places[i].at, places[i].at}, i + 1, i + 1});
  }
  parts.back().range.end = unit.source.text.size();
  parts.back().end_place = places.size();
  return parts;
}

MarkedText ProjectPart(const Unit& unit, const UnitPart& part, std::string_view translation,
                       const Alignment& alignment) {
  MarkedText projected = Project(WithStandIns(unit, part), translation, alignment);
  // A pair that ends in this part and one that begins in it may have changed places.
  if (!Nests(unit.markers, projected)) projected = Project(AllOrdered(unit, part), translation, alignment);
  return projected;
}

}  // namespace salient

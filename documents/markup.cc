#include "documents/markup.h"

#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

bool InsideCharacter(std::string_view text, size_t at) { return at < text.size() && ContinuesCharacter(text[at]); }

}  // namespace

size_t MemoryOf(const Unit& unit) {
  size_t bytes = sizeof(unit) + unit.source.text.size() + unit.source.places.size() * sizeof(MarkerPlace);
  for (const Marker& marker : unit.markers) bytes += sizeof(marker) + marker.bytes.size();
  return bytes;
}

size_t MemoryOf(const std::vector<Unit>& units) {
  size_t bytes = 0;
  for (const Unit& unit : units) bytes += MemoryOf(unit);
  return bytes;
}

absl::Status CheckMarkers(const std::vector<Marker>& markers, const MarkedText& text) {
  const auto wrong = [&markers](int32_t marker, std::string_view reason) {
    return absl::InvalidArgumentError(
        absl::StrCat("marker ", marker, " (", markers[marker].bytes, ") ", std::string(reason)));
  };
  std::vector<bool> seen(markers.size());
  std::vector<int32_t> open;
  size_t last_at = 0;
  int32_t last_ordered = -1;
  for (const MarkerPlace& place : text.places) {
    if (place.marker < 0 || place.marker >= static_cast<int32_t>(markers.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no marker ", place.marker, "; the unit has ", markers.size()));
    }
    const Marker& marker = markers[place.marker];
    if (seen[place.marker]) return wrong(place.marker, "is there twice");
    seen[place.marker] = true;
    if (place.at < last_at || place.at > text.text.size()) return wrong(place.marker, "is out of place");
    if (InsideCharacter(text.text, place.at)) return wrong(place.marker, "stands inside a character");
    last_at = place.at;
    if (marker.ordered) {
      if (place.marker < last_ordered) return wrong(place.marker, "stands after one that it must precede");
      last_ordered = place.marker;
    }
    if (marker.kind == MarkerKind::kOpen) open.push_back(marker.id);
    if (marker.kind == MarkerKind::kClose) {
      if (open.empty() || open.back() != marker.id) return wrong(place.marker, "closes what is not open");
      open.pop_back();
    }
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) return wrong(static_cast<int32_t>(i), "is missing");
  }
  return absl::OkStatus();
}

std::string Flatten(const std::vector<Marker>& markers, const MarkedText& text) {
  std::string flat;
  size_t done = 0;
  for (const MarkerPlace& place : text.places) {
    flat.append(text.text, done, place.at - done).append(markers[place.marker].bytes);
    done = place.at;
  }
  return flat.append(text.text, done);
}

}  // namespace salient

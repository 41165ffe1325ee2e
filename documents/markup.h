// Text with markers: what a document's inline markup, placeholders, code spans and links become.
//
// A marker stands for bytes that are not translated but must come back exactly once: `<b>` and `</b>` (a pair), `<br>`,
// `{0}`, "`make`" or an address (by themselves). How a model is told of markers is not known here.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace salient {

struct ByteRange {
  size_t begin = 0, end = 0;
};

enum class MarkerKind { kOpen, kClose, kStandalone };

struct Marker {
  MarkerKind kind = MarkerKind::kStandalone;
  int32_t id = 0;        // a pair's open and close share one; every other marker of a unit has its own
  std::string bytes;     // what it stands for, as the source has it, escapes undone
  bool ordered = false;  // must not change places with other ordered ones: a line break, half of a broken pair

  bool operator==(const Marker&) const = default;
};

// Where a marker stands: before byte `at` of a text.
struct MarkerPlace {
  size_t at = 0;
  int32_t marker = 0;  // its index among the unit's markers

  bool operator==(const MarkerPlace&) const = default;
};

// UTF-8 text, and its markers from left to right.
struct MarkedText {
  std::string text;
  std::vector<MarkerPlace> places;

  bool operator==(const MarkedText&) const = default;
};

// The unit of a document: a paragraph, a heading, a cell, an attribute. The sentence splitter cuts it further.
struct Unit {
  std::vector<Marker> markers;  // in the order of the source, so that source.places[i].marker == i
  MarkedText source;
  bool starts_paragraph = true;

  // True if the engine shall see the line breaks in the text, false if it holds none.
  bool has_lines = false;
};

// Whether `text` has every marker exactly once, pairs nested properly, ordered ones in order, all between characters.
// INVALID_ARGUMENT says what is wrong and with which marker.
absl::Status CheckMarkers(const std::vector<Marker>& markers, const MarkedText& text);

// The text with each marker's bytes in its place.
std::string Flatten(const std::vector<Marker>& markers, const MarkedText& text);

}  // namespace salient

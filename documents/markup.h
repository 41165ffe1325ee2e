// Text with markers, which stand for inline markup, placeholders, code spans and links.
//
// A marker stands for bytes that are not translated but must be in the translation exactly once: `<b>` and `</b>` (a
// pair), or `<br>`, `{0}`, "`make`" or an address (single markers). This header is independent of how a model handles
// markers.

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
  int32_t id = 0;        // shared by the opening and closing marker of a pair; otherwise unique in a unit
  std::string bytes;     // the source bytes that it stands for, unescaped; of long ones the beginning
  bool ordered = false;  // must keep its order relative to other ordered markers: a line break, half of a broken pair
  bool breaks = false;   // ends a segment: a line break, a tab. Such a marker is ordered, too.
  bool is_word = false;  // stands for a word of its sentence: a code span, a placeholder, a name to keep

  bool operator==(const Marker&) const = default;
};

// The place of a marker: before byte `at` of a text.
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

// A unit of a document: a paragraph, a heading, a cell, an attribute. It is later split into sentences.
struct Unit {
  std::vector<Marker> markers;  // in the order of the source, so that source.places[i].marker == i
  MarkedText source;
  bool starts_paragraph = true;
};

// About how many bytes of memory they take.
size_t MemoryOf(const Unit& unit);
size_t MemoryOf(const std::vector<Unit>& units);

// Checks that `text` has every marker exactly once, that pairs nest properly, that ordered markers are in order, and
// that all are between characters. INVALID_ARGUMENT names the error and the marker.
absl::Status CheckMarkers(const std::vector<Marker>& markers, const MarkedText& text);

// The text with the bytes of each marker inserted.
std::string Flatten(const std::vector<Marker>& markers, const MarkedText& text);

}  // namespace salient

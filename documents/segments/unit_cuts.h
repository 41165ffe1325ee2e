// Cuts one part of a unit (unit_parts.h) into segments.
//
// The splitter sees a word in place of each marker that stands for one (Marker::is_word). So a sentence may begin or
// end with a marker: "Save it. `a.txt` must be new." has two sentences, and the marker is in the second one.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/markup.h"
#include "documents/segments/unit_parts.h"
#include "engine/api/request.h"

namespace salient {

// Text of a unit, in which line breaks may have become spaces, and of each of its bytes the place in the unit's text.
struct CutText {
  std::string text;
  std::vector<size_t> origin;

  void Add(char c, size_t at) {
    text.push_back(c);
    origin.push_back(at);
  }
  void RemoveLast() {
    text.pop_back();
    origin.pop_back();
  }
};

struct UnitCut {
  ByteRange range;  // in the unit's text
  CutText cut;      // the text of the range, with a letter at least. At an end with a marker it may have white space.
  std::optional<size_t> opening_place;  // which of the unit's places has the marker for a word that it begins with
  bool starts_paragraph = false;
};

// In order.
absl::StatusOr<std::vector<UnitCut>> CutPart(const Unit& unit, const UnitPart& part, Segmentation segmentation,
                                             const std::string& language);

}  // namespace salient

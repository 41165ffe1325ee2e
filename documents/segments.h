// Units as segments for the engine, and the translated segments as units again.
//
//   auto segments = UnitSegments::Create(document.units(), "en");
//   ... translate segments->texts(), one by one, or segments->lines() as one text with Segmentation::kLines ...
//   auto rendered = document.Render(segments->Join(translated));
//
// Sentences are cut by the engine's splitter. Markers are left out of what the engine sees and put back along an
// alignment (projection.h); a sentence whose translation is its source keeps them where they are.

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/markup.h"
#include "documents/projection.h"

namespace salient {

class UnitSegments {
 public:
  static absl::StatusOr<UnitSegments> Create(const std::vector<Unit>& units, const std::string& source_language);

  // What is to be translated, in order: not empty, no line break, at least one letter.
  const std::vector<std::string>& texts() const { return texts_; }
  size_t unit_of(size_t segment) const { return places_[segment].unit; }

  // One segment a line, an empty line before each paragraph: SplitDocument makes the same segments of it with kLines.
  std::string lines() const;

  // `translations[i]` is that of texts()[i], `alignments[i]` of its words, if a model gives one; else empty, and they
  // are aligned by their place.
  std::vector<MarkedText> Join(const std::vector<std::string>& translations,
                               const std::vector<Alignment>& alignments = {}) const;

 private:
  struct Place {
    size_t unit = 0;
    ByteRange range;  // in the unit's text
  };
  MarkedText JoinUnit(size_t unit, size_t first, size_t end, const std::vector<std::string>& translations,
                      const std::vector<Alignment>& alignments) const;

  std::vector<Unit> units_;
  std::vector<std::string> texts_;
  std::vector<Place> places_;  // of each segment
};

}  // namespace salient

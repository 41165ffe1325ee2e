// Splits units into segments for the engine, and joins translated segments to units.
//
//   auto segments = UnitSegments::Create(document.units(), "en");
//   ... translate segments->texts(), one by one, or segments->lines() as one text with Segmentation::kLines ...
//   auto rendered = document.Render(segments->Join(translated));
//
// The engine's splitter finds the sentences. The engine gets text without markers; markers are inserted along an
// alignment (projection.h). If a sentence's translation equals its source, its markers keep their places.

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

  // The segments to translate, in order. Each has at least one letter and no line break.
  const std::vector<std::string>& texts() const { return texts_; }
  size_t unit_of(size_t segment) const { return places_[segment].unit; }

  // One segment on each line, with an empty line before each paragraph. With kLines, SplitDocument finds the same
  // segments.
  std::string lines() const;

  // `translations[i]` is the translation of texts()[i], and `alignments[i]` its word alignment from a model. Without
  // alignments, words are aligned by position.
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

// Units as segments for the engine, and the translated segments as units again.
//
//   auto segments = UnitSegments::Create(document.units(), {.source_language = "en"});
//   ... translate segments->texts(), one by one, or segments->lines() as one text with Segmentation::kLines ...
//   auto rendered = document.Render(segments->Join(translated));
//
// Sentences are cut by the engine's splitter. A model that has pieces for markers reads and writes them
// (spelled_markers.h). Else, and where a unit's translation breaks them all the same, markers are left out of what the
// engine sees and put back along an alignment (projection.h). A sentence whose translation is its source keeps them
// where they are.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/glossary.h"
#include "documents/markup.h"
#include "documents/projection.h"
#include "documents/spelled_markers.h"
#include "engine/api/request.h"
#include "engine/api/result.h"

namespace salient {

struct SegmentOptions {
  std::string source_language;
  Segmentation segmentation = Segmentation::kSentences;
  int32_t markers = 0;                 // pieces for markers that the model has; 0: markers are left out
  const Glossary* glossary = nullptr;  // terms to be found; outlives the call only
};

// A term of the glossary that a segment has, and whether its translation has the term's target for it.
struct TermUse {
  std::string source, target;
  bool used = false;
};

class UnitSegments {
 public:
  static absl::StatusOr<UnitSegments> Create(const std::vector<Unit>& units, const SegmentOptions& options);

  // What is to be translated, in order: not empty, no line break, at least one letter; with the markers it spells.
  const std::vector<std::string>& texts() const { return texts_; }
  size_t unit_of(size_t segment) const { return places_[segment].unit; }
  bool has_terms(size_t segment) const { return !places_[segment].terms.empty(); }

  // One segment a line, an empty line before each paragraph: SplitDocument makes the same segments of it with kLines.
  // `left_out`: of each segment whether it is not wanted; empty: all are.
  std::string lines(const std::vector<bool>& left_out = {}) const;

  // A translation of segment i with the targets of its terms in the place of what the model says for them; the links, if
  // there are any, are moved with the text. Where the model was told nothing of the terms (no pieces for markers) they
  // are found along the links, or by their place.
  std::string WithTerms(size_t segment, std::string_view translation, std::vector<TokenLink>* links,
                        std::vector<TermUse>* uses) const;

  // `translations[i]` is that of texts()[i], `alignments[i]` of its words, if a model gives one (AlignmentOf); else
  // empty, and they are aligned by their place.
  std::vector<MarkedText> Join(const std::vector<std::string>& translations,
                               const std::vector<Alignment>& alignments = {}) const;

  // The words of segment i in its unit, and of its translation, linked as the engine has linked tokens.
  Alignment AlignmentOf(size_t segment, std::string_view translation, const std::vector<TokenLink>& links) const;

 private:
  struct FoundTerm {
    Term term;
    std::string source, target;  // as the text has it, and as the translation shall
    ByteRange range;             // in the unit's text
    bool blocked = false;        // a marker stands within it
    int32_t number = -1;         // of the marker that opens it for the model
  };
  struct Place {
    size_t unit = 0;
    ByteRange range;                          // in the unit's text
    std::vector<size_t> origin;               // of each byte of the text its place in the unit's; of its end, too
    size_t first_marker = 0, end_marker = 0;  // which of the unit's places it has
    std::optional<SpelledSegment> spelled;    // if it spells markers
    std::vector<FoundTerm> terms;
    bool starts_paragraph = false;
  };
  static std::vector<ByteRange> FindTerms(const Glossary* glossary, const MarkedText& marked,
                                          const std::vector<size_t>& origin, Place* place);
  std::string_view TextOf(size_t segment) const;
  std::optional<MarkedText> JoinSpelled(size_t unit, size_t first, size_t end,
                                        const std::vector<std::string>& translations) const;
  MarkedText JoinUnit(size_t unit, size_t first, size_t end, const std::vector<std::string>& translations,
                      const std::vector<Alignment>& alignments) const;

  std::vector<Unit> units_;
  std::vector<std::string> texts_;
  std::vector<Place> places_;  // of each segment
};

}  // namespace salient

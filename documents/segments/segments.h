// Splits units into segments for the engine, and joins translated segments to units.
//
//   auto segments = UnitSegments::Create(document.units(), {.source_language = "en"});
//   ... translate segments->texts(), one by one, or segments->lines() as one text with Segmentation::kLines ...
//   auto rendered = document.Render(segments->Join(translated));
//
// A segment ends at each marker that breaks its unit, such as a line break or a tab (unit_parts.h). Such a marker stays
// exactly between the translations of the text around it. The engine's splitter finds the sentences between these
// markers (unit_cuts.h). A sentence may begin or end with a marker that stands for a word.
//
// A model with marker pieces reads and writes the other markers (spelled_markers.h). For other models, and if a
// translation breaks the markers, the engine gets text without them; they are inserted along an alignment
// (projection.h). If a sentence's translation equals its source, its markers keep their places.

#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/markers/projection.h"
#include "documents/markers/spelled_markers.h"
#include "documents/markup.h"
#include "documents/resources/glossary.h"
#include "documents/segments/byte_places.h"
#include "documents/segments/unit_parts.h"
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
  // RESOURCE_EXHAUSTED if there are more than kMaxSegments segments (engine/text/document.h), or if the terms of the
  // glossary stand in so many places that their sources and targets would take more than 64 MiB.
  static absl::StatusOr<UnitSegments> Create(const std::vector<Unit>& units, const SegmentOptions& options);

  // The segments to translate, in order, with the markers that they spell. Each has a letter at least, and no line
  // break.
  const std::vector<std::string>& texts() const { return texts_; }
  bool has_terms(size_t segment) const { return !places_[segment].terms.empty(); }

  // One segment on each line, with an empty line before each paragraph. With kLines, SplitDocument finds the same
  // segments. `left_out`: for each segment whether to leave it out; empty: none.
  std::string lines(const std::vector<bool>& left_out = {}) const;

  // What the translation of a segment must begin with, so that the first of the terms that it lacks stands in it: the
  // translation up to where that term belongs, and the term's target. None if it lacks no term. The first `kept` bytes
  // of the translation stay as they are. `links` as for WithTerms; a segment that spells its terms needs no beginning.
  std::optional<std::string> BeginningWithTerm(size_t segment, std::string_view translation,
                                               const std::vector<TokenLink>& links, size_t kept) const;

  // The translation of a segment with the target of each of its terms instead of what the model said for it. Links are
  // moved with the text. If the segment does not spell its terms, they are found along the links, or by position if
  // there are no links. Appends one use for each term of the segment.
  std::string WithTerms(size_t segment, std::string_view translation, std::vector<TokenLink>* links,
                        std::vector<TermUse>* uses) const;

  // `translations[i]` is the translation of texts()[i], and `alignments[i]` its word alignment (AlignmentOf). Without
  // an alignment, words are aligned by position. A space goes between two segments as in JoinDocument.
  std::vector<MarkedText> Join(const std::vector<std::string>& translations,
                               const std::vector<Alignment>& alignments = {}) const;

  // The words of segment i in its unit, and of its translation, linked as the engine has linked tokens.
  Alignment AlignmentOf(size_t segment, std::string_view translation, const std::vector<TokenLink>& links) const;

  // About how many bytes of memory they take.
  size_t bytes() const;

 private:
  struct FoundTerm {
    size_t term = 0;       // of terms_
    bool capital = false;  // its target gets one
    std::string source;    // as the text has it
    ByteRange range;       // in the unit's text
    bool blocked = false;  // a marker stands within it
    int32_t number = -1;   // of the marker that opens it for the model
  };
  struct Place {
    size_t unit = 0;
    ByteRange range;                          // in the unit's text, with white space next to a marker at an end
    BytePlaces origin;                        // of each byte of the text its place in the unit's; of its end, too
    size_t first_marker = 0, end_marker = 0;  // which of the unit's places it has
    std::optional<SpelledSegment> spelled;    // if it spells markers
    std::vector<FoundTerm> terms;
    bool starts_paragraph = false;

    size_t bytes() const;
  };
  // A term that a translation lacks, and the words there that were made of it; an empty range: none were, and it
  // belongs there.
  struct LackedTerm {
    size_t term = 0;  // of the segment
    ByteRange said;
  };
  std::vector<LackedTerm> LackedTerms(size_t segment, std::string_view translation,
                                      const std::vector<TokenLink>& links) const;
  absl::StatusOr<std::vector<ByteRange>> FindTerms(const Glossary* glossary, const MarkedText& marked,
                                                   const std::vector<size_t>& origin, Place* place);
  std::string TargetOf(const FoundTerm& found) const { return salient::TargetOf(terms_[found.term], found.capital); }
  // Adds the segments of one part of a unit.
  absl::Status AddPart(size_t unit, const UnitPart& part, bool starts_paragraph, const SegmentOptions& options);
  std::string_view TextOf(size_t segment) const;
  // Whether a space must go before a translation that the source text has not, because its script needs none.
  bool LacksSpaceBefore(size_t segment, const std::vector<std::string>& translations) const;
  std::optional<MarkedText> JoinSpelled(size_t unit, size_t first, size_t end,
                                        const std::vector<std::string>& translations) const;
  MarkedText JoinUnit(size_t unit, size_t first, size_t end, const std::vector<std::string>& translations,
                      const std::vector<Alignment>& alignments) const;
  MarkedText JoinPart(const Unit& unit, const UnitPart& part, size_t first, size_t end,
                      const std::vector<std::string>& translations, const std::vector<Alignment>& alignments) const;

  std::vector<Unit> units_;
  std::vector<std::string> texts_;
  std::vector<Place> places_;                       // of each segment
  std::vector<Term> terms_;                         // that were found
  std::unordered_map<int32_t, size_t> term_index_;  // which of terms_ a term of the glossary is
  size_t terms_bytes_ = 0;                          // of the terms at all places where they were found
};

}  // namespace salient

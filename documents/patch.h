// Documents that are one text: units are ranges of its bytes, and translations are patches.
//
// Text formats are parsed into this representation. Ranges nest: the `title` of a link is a unit inside the marker of
// another.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "documents/document.h"

namespace salient {

// Formats a changed translation. `markers[i]` are the bytes of the unit's marker i in the document, with translated
// attributes.
using UnitWriter = std::function<std::string(const Unit& unit, const MarkedText& translation,
                                             const std::vector<std::string>& markers)>;

// The writer of most formats: the text is escaped by `escape`, and so are markers with an empty range. The others are
// copied.
UnitWriter WriteEscaped(std::function<std::string(std::string_view)> escape);

struct PlacedUnit {
  Unit unit;
  ByteRange place;                 // the range that its translation replaces
  std::vector<ByteRange> markers;  // the range of each marker in the document; empty: it has none of its own
  UnitWriter write;
  bool always = false;  // also written if the translation equals the source, such as a missing target
  bool is_cut = false;  // its text was too long, and is not whole: the document must be refused
};

// A change that is independent of translations, such as of `lang`.
struct Edit {
  ByteRange place;
  std::string bytes;
  std::optional<ByteRange> only_with = std::nullopt;  // made only if a unit within this range is written
};

class PatchedText {
 public:
  PatchedText() = default;
  // Ranges of units and edits are disjoint, or inside a unit's marker.
  PatchedText(std::string bytes, std::vector<PlacedUnit> units, std::vector<Edit> edits);

  const std::string& bytes() const { return bytes_; }
  const std::vector<PlacedUnit>& placed_units() const { return units_; }
  size_t unit_count() const { return units_.size(); }
  const Unit& unit(size_t i) const { return units_[i].unit; }

  // translations[i] is the translation of unit i. Precondition: they pass CheckMarkers.
  std::string Render(const MarkedText* translations) const;

  // About how many bytes of memory it takes.
  size_t memory() const;

 private:
  class Renderer;
  std::string bytes_;
  std::vector<PlacedUnit> units_;
  std::vector<Edit> edits_;
};

// RESOURCE_EXHAUSTED if one of the units has too much text.
absl::Status CheckWhole(const std::vector<PlacedUnit>& units);

// Whether there are more units than the limits allow. A reader stops then, so that they take no more memory, and
// MakePatchedDocument refuses them.
bool HasTooManyUnits(size_t units, const DocumentLimits& limits);
// The refusal of all formats then: RESOURCE_EXHAUSTED.
absl::Status TooManyUnits(const DocumentLimits& limits);

// A FormattedDocument of one PatchedText. RESOURCE_EXHAUSTED if there are more units than the limits allow, or one of
// them has too much text.
absl::StatusOr<std::unique_ptr<FormattedDocument>> MakePatchedDocument(PatchedText text, const DocumentLimits& limits);

// The check of translations that all FormattedDocuments make.
absl::Status CheckTranslations(const std::vector<Unit>& units, const std::vector<MarkedText>& translations);

}  // namespace salient

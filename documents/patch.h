// Documents that are one text: units are ranges of its bytes, and translations are patches.
//
// Every format here is parsed into this. Ranges nest: the `title` of a link is a unit within the marker of another.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "documents/document.h"

namespace salient {

// Writes a changed translation: `markers[i]` are the bytes of the unit's marker i as the document has them, attributes
// within them translated.
using UnitWriter = std::function<std::string(const Unit& unit, const MarkedText& translation,
                                             const std::vector<std::string>& markers)>;

// The writer of most formats: text escaped by `escape`, markers as they are.
UnitWriter WriteEscaped(std::function<std::string(std::string_view)> escape);

struct PlacedUnit {
  Unit unit;
  ByteRange place;                 // what its translation replaces
  std::vector<ByteRange> markers;  // where each marker's bytes are in the document
  UnitWriter write;
  bool always = false;  // also written where the translation is the source: where there was nothing
};

// A change that does not depend on translations, such as of `lang`.
struct Edit {
  ByteRange place;
  std::string bytes;
};

class PatchedText {
 public:
  PatchedText() = default;
  // Places of units and edits are disjoint, or a unit's marker holds them.
  PatchedText(std::string bytes, std::vector<PlacedUnit> units, std::vector<Edit> edits);

  const std::string& bytes() const { return bytes_; }
  size_t unit_count() const { return units_.size(); }
  const Unit& unit(size_t i) const { return units_[i].unit; }

  // translations[i] is that of unit i; they obey CheckMarkers.
  std::string Render(const MarkedText* translations) const;

 private:
  class Renderer;
  std::string bytes_;
  std::vector<PlacedUnit> units_;
  std::vector<Edit> edits_;
};

// A FormattedDocument of one PatchedText. RESOURCE_EXHAUSTED if there are more units than the limits allow.
absl::StatusOr<std::unique_ptr<FormattedDocument>> MakePatchedDocument(PatchedText text, const DocumentLimits& limits);

// What every FormattedDocument checks of the translations that it is given.
absl::Status CheckTranslations(const std::vector<Unit>& units, const std::vector<MarkedText>& translations);

}  // namespace salient

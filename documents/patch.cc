#include "documents/patch.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace salient {
namespace {

class PatchedDocument final : public FormattedDocument {
 public:
  explicit PatchedDocument(PatchedText text) : text_(std::move(text)) {
    for (size_t i = 0; i < text_.unit_count(); ++i) units_.push_back(text_.unit(i));
  }

  const std::vector<Unit>& units() const override { return units_; }

  absl::StatusOr<std::string> Render(const std::vector<MarkedText>& translations) const override {
    if (absl::Status status = CheckTranslations(units_, translations); !status.ok()) return status;
    return text_.Render(translations.data());
  }

  size_t bytes() const override { return text_.memory() + MemoryOf(units_); }

 private:
  PatchedText text_;
  std::vector<Unit> units_;
};

}  // namespace

// What differs from the source, sorted so that whatever holds another comes first.
class PatchedText::Renderer {
 public:
  Renderer(const PatchedText& text, const MarkedText* translations) : text_(text), translations_(translations) {
    for (size_t i = 0; i < text.units_.size(); ++i) {
      const PlacedUnit& unit = text.units_[i];
      if (unit.always || translations[i] != unit.unit.source) changes_.push_back({unit.place, &unit, i, nullptr});
    }
    std::stable_sort(changes_.begin(), changes_.end(), ComesBefore);
    const size_t written = changes_.size();
    for (const Edit& edit : text.edits_) {
      if (edit.only_with.has_value() && !HasChange(*edit.only_with, written)) continue;
      changes_.push_back({edit.place, nullptr, 0, &edit});
    }
    std::stable_sort(changes_.begin(), changes_.end(), ComesBefore);
  }

  // The bytes of `range` with the changes that lie within, but for `outer`.
  std::string Write(ByteRange range, const void* outer) const {
    std::string out;
    size_t done = range.begin;
    auto change = std::lower_bound(changes_.begin(), changes_.end(), range.begin,
                                   [](const Change& c, size_t begin) { return c.place.begin < begin; });
    for (; change != changes_.end() && change->place.begin <= range.end; ++change) {
      const bool fits = change->place.begin >= done && change->place.end <= range.end;
      if (!fits || (outer != nullptr && change->unit == outer)) continue;
      if (outer != nullptr && change->place.begin == range.end) break;  // an insertion after a marker is not in it
      out.append(text_.bytes_, done, change->place.begin - done);
      out.append(change->edit != nullptr ? change->edit->bytes : WriteUnit(*change));
      done = change->place.end;
    }
    return out.append(text_.bytes_, done, range.end - done);
  }

 private:
  struct Change {
    ByteRange place;
    const PlacedUnit* unit = nullptr;
    size_t index = 0;
    const Edit* edit = nullptr;
  };

  static bool ComesBefore(const Change& a, const Change& b) {
    return a.place.begin != b.place.begin ? a.place.begin < b.place.begin : a.place.end > b.place.end;
  }

  // Whether one of the first `count` changes, which are sorted, begins in the range.
  bool HasChange(ByteRange range, size_t count) const {
    const auto end = changes_.begin() + static_cast<std::ptrdiff_t>(count);
    const auto change = std::lower_bound(changes_.begin(), end, range.begin,
                                         [](const Change& c, size_t begin) { return c.place.begin < begin; });
    return change != end && change->place.begin < range.end;
  }

  std::string WriteUnit(const Change& change) const {
    std::vector<std::string> markers;
    for (const ByteRange& marker : change.unit->markers) markers.push_back(Write(marker, change.unit));
    return change.unit->write(change.unit->unit, translations_[change.index], markers);
  }

  const PatchedText& text_;
  const MarkedText* const translations_;
  std::vector<Change> changes_;
};

UnitWriter WriteEscaped(std::function<std::string(std::string_view)> escape) {
  return [escape = std::move(escape)](const Unit& unit, const MarkedText& translation,
                                      const std::vector<std::string>& markers) {
    const std::string_view text = translation.text;
    std::string out;
    size_t done = 0;
    for (const MarkerPlace& place : translation.places) {
      const std::string& copied = markers[place.marker];
      out.append(escape(text.substr(done, place.at - done)));
      out.append(copied.empty() ? escape(unit.markers[place.marker].bytes) : copied);
      done = place.at;
    }
    return out.append(escape(text.substr(done)));
  };
}

PatchedText::PatchedText(std::string bytes, std::vector<PlacedUnit> units, std::vector<Edit> edits)
    : bytes_(std::move(bytes)), units_(std::move(units)), edits_(std::move(edits)) {}

std::string PatchedText::Render(const MarkedText* translations) const {
  return Renderer(*this, translations).Write({0, bytes_.size()}, nullptr);
}

size_t PatchedText::memory() const {
  size_t bytes = bytes_.size();
  for (const PlacedUnit& unit : units_) {
    bytes += MemoryOf(unit.unit) + sizeof(unit) - sizeof(unit.unit) + unit.markers.size() * sizeof(ByteRange);
  }
  for (const Edit& edit : edits_) bytes += sizeof(edit) + edit.bytes.size();
  return bytes;
}

bool HasTooManyUnits(size_t units, const DocumentLimits& limits) {
  return units > static_cast<size_t>(limits.max_units);
}

absl::Status TooManyUnits(const DocumentLimits& limits) {
  return absl::ResourceExhaustedError(absl::StrCat("the document has more than ", limits.max_units,
                                                   " units of text (paragraphs, cells, attributes); split it"));
}

absl::Status CheckWhole(const std::vector<PlacedUnit>& units) {
  const bool is_whole = std::none_of(units.begin(), units.end(), [](const PlacedUnit& unit) { return unit.is_cut; });
  if (is_whole) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a paragraph, cell or attribute has more than ", kMostUnitText >> 20, " MiB of text; divide it"));
}

absl::StatusOr<std::unique_ptr<FormattedDocument>> MakePatchedDocument(PatchedText text, const DocumentLimits& limits) {
  if (HasTooManyUnits(text.unit_count(), limits)) return TooManyUnits(limits);
  if (absl::Status status = CheckWhole(text.placed_units()); !status.ok()) return status;
  return std::make_unique<PatchedDocument>(std::move(text));
}

absl::Status CheckTranslations(const std::vector<Unit>& units, const std::vector<MarkedText>& translations) {
  if (units.size() != translations.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", translations.size(), " translations for ", units.size(), " units"));
  }
  for (size_t i = 0; i < units.size(); ++i) {
    if (absl::Status status = CheckMarkers(units[i].markers, translations[i]); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("translation ", i, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace salient

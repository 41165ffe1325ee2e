// XLIFF 1.2 and 2.0: for each unit without a translation, the source is translated into the target.
//
// Inline codes are markers. These are pairs: `g`, `pc` and `mrk`, and codes that refer to each other (`bpt`/`ept`,
// `bx`/`ex`, `sc`/`ec`, and Angular's `x` with START_ and CLOSE_). All others are single markers. Units with
// translate="no" and existing translations stay as they are. A state that says that a unit is not translated yet
// becomes the next one.
//
// If a unit of version 1.2 has a `seg-source`, each `<mrk mtype="seg">` in it is a unit of ours, and the target gets
// the same `mrk` elements with the same `mid`: tools for translators find the segments of a target by them.

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/formats/parsers.h"
#include "documents/language.h"
#include "documents/syntax/xml_events.h"
#include "documents/units/unit_builder.h"

namespace salient {
namespace {

using Kind = XmlEvent::Kind;

std::string_view LocalName(const std::string& name) {
  const size_t colon = name.find(':');
  return colon == std::string::npos ? std::string_view(name) : std::string_view(name).substr(colon + 1);
}

class XliffReader {
 public:
  XliffReader(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options)
      : bytes_(bytes),
        events_(events),
        options_(options),
        builder_(bytes, {.inline_rules = {.keep_terms = options.keep_terms,
                                          .tags = true,
                                          .source_language = options.source_language},
                         .collapse_space = false,
                         .leave_out_ends = false,
                         .copies_markers = true}),
        edits_(EncodingEdits(bytes)) {}

  ParsedDocument Read() {
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      const std::string_view name = LocalName(events_[i].name);
      if (name == "xliff") TakeRoot(i);
      if (!is_xliff_) return absl::InvalidArgumentError("XLIFF: its root is not the element xliff");
      if (name == "file") SetLanguage(i, "target-language", /*always=*/false);
      if (AttributeOf(bytes_, events_[i], "translate") == "no") {
        i = events_[i].match;
      } else if (name == "trans-unit" || name == "segment") {
        TakeUnit(i);
        if (!refusal_.ok()) return refusal_;
        i = events_[i].match;
      }
    }
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), std::move(edits_)), options_.limits);
  }

 private:
  void TakeRoot(size_t root) {
    is_xliff_ = true;
    version_2_ = AttributeOf(bytes_, events_[root], "version").starts_with('2');
    if (version_2_) SetLanguage(root, "trgLang", /*always=*/true);
  }

  // `always`: adds the attribute if it is missing, because targets need it. A region of the same language stays.
  void SetLanguage(size_t element, const std::string& attribute, bool always) {
    if (options_.target_language.empty()) return;
    const ByteRange tag = events_[element].range;
    const std::string value = EscapeXmlAttribute(options_.target_language);
    if (const std::optional<ByteRange> found = FindAttribute(bytes_, tag, attribute)) {
      if (PrimaryLanguage(Bytes(*found)) == options_.target_language) return;
      edits_.push_back({*found, value});
    } else if (always) {
      const size_t name_end = tag.begin + 1 + events_[element].name.size();
      edits_.push_back({{name_end, name_end}, absl::StrCat(" ", attribute, "=\"", value, "\"")});
    }
  }

  // The child element with this local name, or 0.
  size_t Child(size_t element, std::string_view name) const {
    for (size_t i = element + 1; i < events_[element].match; ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (LocalName(events_[i].name) == name) return i;
      i = events_[i].match;
    }
    return 0;
  }

  // Whether an element has no text but white space.
  bool HasNoText(size_t element) const {
    for (size_t i = element + 1; i < events_[element].match; ++i) {
      if (events_[i].kind == Kind::kText && !IsBlank(events_[i].text)) return false;
    }
    return true;
  }

  // Whether the unit has a translation to keep.
  bool IsTranslated(size_t unit, size_t target) const {
    return target != 0 && !HasNoText(target) &&
           !SaysUntranslated(AttributeOf(bytes_, events_[version_2_ ? unit : target], "state"));
  }

  static bool SaysUntranslated(std::string_view state) {
    return IsOneOf(state, {"new", "needs-translation", "initial"});
  }

  // An element's state that says that there is no translation becomes the next one.
  void AdvanceState(size_t element) {
    const std::optional<ByteRange> state = FindAttribute(bytes_, events_[element].range, "state");
    if (!state.has_value() || !SaysUntranslated(bytes_.substr(state->begin, state->end - state->begin))) return;
    edits_.push_back({*state, version_2_ ? "translated" : "needs-review-translation"});
  }

  // Where a translation is written, and what is written around it.
  struct Slot {
    ByteRange place;
    std::string before, after;
  };

  void TakeUnit(size_t element) {
    const size_t source = Child(element, "source"), target = Child(element, "target");
    if (source == 0) return;
    const size_t units_before = units_.size();
    const size_t segmented = Child(element, "seg-source");
    const std::vector<size_t> segments = segmented == 0 ? std::vector<size_t>() : SegmentsOf(segmented);
    const bool translated = IsTranslated(element, target);
    const std::vector<size_t> targets = target == 0 ? std::vector<size_t>() : SameSegments(segments, target);
    if (!targets.empty()) {
      FillSegments(segments, targets, /*overwrite=*/!translated);
    } else if (!translated) {
      const Slot slot = target == 0 ? NewTarget(source, segmented == 0 ? source : segmented) : ContentSlot(target);
      if (segments.empty()) {
        TakeInto(slot, source);
      } else {
        WriteSegments(segmented, segments, slot);
      }
    }
    const size_t stated = version_2_ ? element : target;
    if (stated != 0 && units_.size() > units_before) AdvanceState(stated);
  }

  // A target element to be added behind the element `last`, for a source without one.
  Slot NewTarget(size_t source, size_t last) const {
    const size_t end = events_[events_[last].match].range.end;
    const std::string name(events_[source].name, 0, events_[source].name.size() - std::string_view("source").size());
    return {{end, end},
            absl::StrCat(Indentation(events_[source].range.begin), "<", name, "target>"),
            absl::StrCat("</", name, "target>")};
  }

  // The content of an element that is there; `<target/>` becomes `<target></target>`.
  Slot ContentSlot(size_t element) const {
    const ByteRange end = events_[events_[element].match].range;
    if (events_[element].range.end != end.end) return {{events_[element].range.end, end.begin}, "", ""};
    return {{end.end - 2, end.end}, ">", absl::StrCat("</", events_[element].name, ">")};
  }

  // Makes a unit of an element's content. Returns false if it has nothing to translate.
  bool TakeInto(const Slot& slot, size_t element) {
    PlacedUnit unit;
    if (!Take(element, &unit)) return false;
    Put(std::move(unit), slot);
    return true;
  }

  bool Take(size_t element, PlacedUnit* unit) {
    TakeContent(element);
    if (builder_.marker_count() > static_cast<size_t>(options_.limits.max_markers)) {
      refusal_ = absl::ResourceExhaustedError(
          absl::StrCat("XLIFF: a unit has more than ", options_.limits.max_markers, " inline codes; divide it"));
    }
    return builder_.Finish(unit);
  }

  void Put(PlacedUnit unit, const Slot& slot) {
    unit.always = true;
    unit.place = slot.place;
    unit.write = [before = slot.before, after = slot.after](const Unit& from, const MarkedText& translation,
                                                            const std::vector<std::string>& markers) {
      return before + WriteEscaped(EscapeXml)(from, translation, markers) + after;
    };
    units_.push_back(std::move(unit));
  }

  // The outermost `<mrk mtype="seg">` elements in an element.
  std::vector<size_t> SegmentsOf(size_t element) const {
    std::vector<size_t> segments;
    for (size_t i = element + 1; i < events_[element].match; ++i) {
      const XmlEvent& event = events_[i];
      if (event.kind != Kind::kStart || LocalName(event.name) != "mrk") continue;
      if (AttributeOf(bytes_, event, "mtype") != "seg") continue;
      segments.push_back(i);
      i = event.match;
    }
    return segments;
  }

  // For each segment of the source, the one of the target with the same `mid`; nothing if the target lacks one.
  std::vector<size_t> SameSegments(const std::vector<size_t>& sources, size_t target) const {
    std::map<std::string_view, size_t> by_id;
    for (const size_t segment : SegmentsOf(target)) by_id[AttributeOf(bytes_, events_[segment], "mid")] = segment;
    std::vector<size_t> same;
    for (const size_t source : sources) {
      const auto found = by_id.find(AttributeOf(bytes_, events_[source], "mid"));
      if (found == by_id.end()) return {};
      same.push_back(found->second);
      by_id.erase(found);  // two segments of the same `mid` cannot be told apart
    }
    return same;
  }

  // Fills in the target's segments. What has nothing to translate, such as a number, is copied.
  void FillSegments(const std::vector<size_t>& sources, const std::vector<size_t>& targets, bool overwrite) {
    const size_t units_before = units_.size();
    std::vector<Edit> copies;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!overwrite && !HasNoText(targets[i])) continue;
      const Slot slot = ContentSlot(targets[i]);
      if (TakeInto(slot, sources[i])) continue;
      copies.push_back({slot.place, absl::StrCat(slot.before, Bytes(ContentOf(sources[i])), slot.after)});
    }
    if (units_.size() > units_before) edits_.insert(edits_.end(), copies.begin(), copies.end());
  }

  // Writes all of a `seg-source` to the slot, with its segments translated. Each unit writes what is before it, too,
  // and an edit writes the rest; Render keeps this order of what stands in the same place.
  void WriteSegments(size_t segmented, const std::vector<size_t>& segments, Slot slot) {
    const ByteRange whole = ContentOf(segmented);
    const size_t units_before = units_.size();
    const std::string after = std::move(slot.after);
    slot.after.clear();
    std::string before = slot.before;
    size_t done = whole.begin;
    for (const size_t segment : segments) {
      const ByteRange content = ContentOf(segment);
      PlacedUnit unit;
      if (!Take(segment, &unit)) continue;
      slot.before = absl::StrCat(before, Bytes({done, content.begin}));
      Put(std::move(unit), slot);
      before.clear();
      done = content.end;
      slot.place.begin = slot.place.end;
    }
    if (units_.size() == units_before) return;
    edits_.push_back({slot.place, absl::StrCat(Bytes({done, whole.end}), after)});
  }

  ByteRange ContentOf(size_t element) const {
    return {events_[element].range.end,
            std::max(events_[element].range.end, events_[events_[element].match].range.begin)};
  }

  std::string Bytes(ByteRange range) const { return std::string(bytes_.substr(range.begin, range.end - range.begin)); }

  // The line break and white space before an element, which the next element gets, too.
  std::string Indentation(size_t at) const {
    size_t begin = at;
    while (begin > 0 && (bytes_[begin - 1] == ' ' || bytes_[begin - 1] == '\t')) --begin;
    if (begin > 0 && bytes_[begin - 1] == '\n') --begin;
    if (begin > 0 && bytes_[begin - 1] == '\r') --begin;
    return std::string(bytes_.substr(begin, at - begin));
  }

  void TakeContent(size_t start) {
    for (size_t i = start + 1; i < events_[start].match; ++i) {
      const XmlEvent& event = events_[i];
      const std::string_view name = LocalName(event.name);
      if (event.kind == Kind::kText) {
        builder_.AddDecoded(event.range, event.text);
      } else if (event.kind == Kind::kEnd) {
        builder_.Close(event.range, event.name);
      } else if (event.kind == Kind::kStart) {
        const ByteRange whole{event.range.begin, events_[event.match].range.end};
        const bool kept =
            AttributeOf(bytes_, event, "translate") == "no" || AttributeOf(bytes_, event, "mtype") == "protected";
        if (IsOneOf(name, {"g", "pc", "mrk"}) && !kept && event.range.end < whole.end) {
          builder_.Open(event.range, event.name);
          continue;
        }
        TakeCode(event, name, whole);
        i = event.match;
      }
    }
  }

  void TakeCode(const XmlEvent& event, std::string_view name, ByteRange whole) {
    const auto id = [&](std::initializer_list<const char*> attributes) {
      for (const char* attribute : attributes) {
        const std::string_view value = AttributeOf(bytes_, event, attribute);
        if (!value.empty()) return absl::StrCat("#", std::string(value));
      }
      return std::string("#");
    };
    if (IsOneOf(name, {"bpt", "bx"})) return builder_.Open(whole, id({"rid", "id"}));
    if (IsOneOf(name, {"ept", "ex"})) return builder_.Close(whole, id({"rid", "id"}));
    if (name == "sc") return builder_.Open(whole, id({"id"}));
    if (name == "ec") return builder_.Close(whole, id({"startRef", "id"}));
    if (name == "x") {  // Angular's START_LINK_1 is closed by CLOSE_LINK
      std::string element(AttributeOf(bytes_, event, "id"));
      element.erase(element.find_last_not_of("_0123456789") + 1);
      if (element.starts_with("START_")) return builder_.Open(whole, element.substr(6));
      if (element.starts_with("CLOSE_")) return builder_.Close(whole, element.substr(6));
    }
    builder_.Standalone(whole, /*ordered=*/false, /*is_word=*/true);
  }

  const std::string_view bytes_;
  const std::vector<XmlEvent>& events_;
  const ParseOptions& options_;
  UnitBuilder builder_;
  std::vector<PlacedUnit> units_;
  std::vector<Edit> edits_;
  absl::Status refusal_;
  bool is_xliff_ = false, version_2_ = false;
};

}  // namespace

ParsedDocument ParseXliff(std::string_view bytes, const ParseOptions& options) {
  const absl::StatusOr<std::vector<XmlEvent>> events = ParseXml(bytes, "XLIFF", options.limits);
  if (!events.ok()) return events.status();
  return XliffReader(bytes, *events, options).Read();
}

}  // namespace salient

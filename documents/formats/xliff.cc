// XLIFF 1.2 and 2.0: for each unit without a translation, the source is translated into the target.
//
// Inline codes are markers. These are pairs: `g`, `pc` and `mrk`, and codes that refer to each other (`bpt`/`ept`,
// `bx`/`ex`, `sc`/`ec`). All others are single markers. Units with translate="no" and existing translations stay as
// they are. A state that says that a unit is not translated yet becomes the next one.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"
#include "documents/unit_builder.h"
#include "documents/xml_events.h"

namespace salient {
namespace {

using Kind = XmlEvent::Kind;

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

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
        builder_(bytes, {{options.keep_terms, /*tags=*/true}, /*collapse_space=*/false, /*leave_out_ends=*/false}) {}

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

  // `always`: adds the attribute if it is missing, because targets need it.
  void SetLanguage(size_t element, const std::string& attribute, bool always) {
    if (options_.target_language.empty()) return;
    const ByteRange tag = events_[element].range;
    const std::string value = EscapeXmlAttribute(options_.target_language);
    if (const std::optional<ByteRange> found = FindAttribute(bytes_, tag, attribute)) {
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

  // Whether the unit has a translation to keep.
  bool IsTranslated(size_t unit, size_t target) const {
    bool empty = true;
    for (size_t i = target + 1; i < events_[target].match; ++i) {
      empty = empty &&
              (events_[i].kind != Kind::kText || events_[i].text.find_first_not_of(" \t\r\n") == std::string::npos);
    }
    return !empty && !SaysUntranslated(AttributeOf(bytes_, events_[version_2_ ? unit : target], "state"));
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

  void TakeUnit(size_t element) {
    const size_t source = Child(element, "source"), target = Child(element, "target");
    if (source == 0 || (target != 0 && IsTranslated(element, target))) return;
    TakeContent(source);
    if (builder_.marker_count() > static_cast<size_t>(options_.limits.max_markers)) {
      refusal_ = absl::ResourceExhaustedError(
          absl::StrCat("XLIFF: a unit has more than ", options_.limits.max_markers, " inline codes; divide it"));
    }
    PlacedUnit unit;
    if (!builder_.Finish(&unit)) return;
    unit.always = true;
    std::string before, after;
    const std::string name(events_[source].name, 0, events_[source].name.size() - std::string_view("source").size());
    const std::string tag = "<" + name + "target>", end_tag = "</" + name + "target>";
    if (target == 0) {
      const size_t segmented = Child(element, "seg-source");
      const size_t last = events_[segmented != 0 ? segmented : source].match;
      unit.place = {events_[last].range.end, events_[last].range.end};
      before = Indentation(events_[source].range.begin) + tag;
      after = end_tag;
    } else {
      const ByteRange end = events_[events_[target].match].range;
      unit.place = {events_[target].range.end, end.begin};
      if (events_[target].range.end == end.end) {  // <target/>
        unit.place = {end.end - 2, end.end};
        before = ">";
        after = end_tag;
      }
    }
    if (const size_t stated = version_2_ ? element : target; stated != 0) AdvanceState(stated);
    unit.write = [before, after](const Unit& from, const MarkedText& translation,
                                 const std::vector<std::string>& markers) {
      return before + WriteEscaped(EscapeXml)(from, translation, markers) + after;
    };
    units_.push_back(std::move(unit));
  }

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

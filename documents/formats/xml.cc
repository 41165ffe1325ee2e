// XML without a more specific format: a unit is a run of text with its inline elements.
//
// An element is inline if its parent has text of its own or is inline itself; every other element is a block
// (options.elements overrides this). White space is text where xml:space="preserve" says so, or
// options.elements. Not translated: attributes, comments, elements with translate="no" (its:translate="no", or
// translatable="false" of Android), code of DITA and DocBook, the elements of options.elements.keep, and in a document
// identifiers and the like.
//
// A piece of a document, without one element around it, is accepted, too.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/language.h"
#include "documents/syntax/xml_events.h"
#include "documents/units/string_unit.h"
#include "documents/units/unit_builder.h"

namespace salient {
namespace {

using Kind = XmlEvent::Kind;

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::string_view kSectionBegin = "<![CDATA[", kSectionEnd = "]]>";

bool IsSection(std::string_view bytes) {
  return bytes.starts_with(kSectionBegin) && bytes.find(kSectionEnd) == bytes.size() - kSectionEnd.size();
}

std::string WriteSection(const Unit& unit, const MarkedText& translation, const std::vector<std::string>&) {
  // The end of a section within it is divided between two.
  const std::string text =
      absl::StrReplaceAll(WithoutForbidden(Flatten(unit.markers, translation)), {{"]]>", "]]]]><![CDATA[>"}});
  return absl::StrCat(std::string(kSectionBegin), text, std::string(kSectionEnd));
}

class XmlReader {
 public:
  XmlReader(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options)
      : bytes_(bytes),
        events_(events),
        options_(options),
        in_text_(events.size() + 1),
        preserves_space_(events.size() + 1),
        builder_(bytes, {.inline_rules = {.keep_terms = options.keep_terms, .source_language = options.source_language},
                         .copies_markers = true}),
        edits_(EncodingEdits(bytes)) {
    FindElementsInText();
  }

  ParsedDocument Read() {
    for (size_t i = 0; i < events_.size(); ++i) {
      i = Take(i);
      if (builder_.marker_count() > static_cast<size_t>(options_.limits.max_markers)) Flush();
    }
    Flush();
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), std::move(edits_)), options_.limits);
  }

 private:
  // Finds out for each element whether it is inline, and for all that is in it whether white space is text.
  void FindElementsInText() {
    const ElementRules& rules = options_.elements;
    const size_t top = events_.size();    // stands for what is around all of them
    std::vector<bool> has_text(top + 1);  // directly, not in its children
    size_t at_top = 0;                    // elements that are in no other
    std::vector<size_t> open = {top};
    preserves_space_[top] = rules.keep_line_breaks;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind == Kind::kStart) {
        if (open.back() == top && ++at_top == 1) root_ = i;
        open.push_back(i);
      }
      if (events_[i].kind == Kind::kEnd) open.pop_back();
      if (events_[i].kind == Kind::kText && !IsBlank(events_[i].text)) has_text[open.back()] = true;
    }
    has_root_ = at_top == 1 && !has_text[top];
    for (size_t i = 0; i < events_.size(); ++i) {
      preserves_space_[i] = preserves_space_[open.back()];
      if (events_[i].kind == Kind::kEnd) open.pop_back();
      if (events_[i].kind != Kind::kStart) continue;
      const std::string& name = events_[i].name;
      if (const std::string_view space = AttributeOf(bytes_, events_[i], "xml:space"); !space.empty()) {
        preserves_space_[i] = space == "preserve";
      }
      const bool beside_text = has_text[open.back()] || in_text_[open.back()];
      in_text_[i] = Has(rules.in_text, name) || (!Has(rules.block, name) && (rules.listed_only || beside_text));
      if (has_root_ && open.back() == top) in_text_[i] = false;  // the root is a block
      open.push_back(i);
    }
  }

  // Reads event i and what belongs to it; returns the index of the last event that was read.
  size_t Take(size_t i) {
    const XmlEvent& event = events_[i];
    const bool in_text = in_text_[event.kind == Kind::kEnd ? event.match : i];
    switch (event.kind) {
      case Kind::kText:
        TakeText(i);
        return i;
      case Kind::kOther:
        builder_.Standalone(event.range, /*ordered=*/false, /*is_word=*/false);
        return i;
      case Kind::kEnd:
        if (in_text) {
          builder_.Close(event.range, event.name);
        } else {
          Flush();
        }
        return i;
      case Kind::kStart:
        return TakeStart(i, in_text);
    }
    return i;
  }

  // A section (CDATA) often holds markup of its own. It is written as a whole, so white space at its ends is part of
  // it.
  void TakeText(size_t i) {
    const XmlEvent& event = events_[i];
    const bool is_section = bytes_.substr(event.range.begin).starts_with(kSectionBegin);
    const bool is_last =
        i + 1 == events_.size() || (events_[i + 1].kind == Kind::kEnd && !in_text_[events_[i + 1].match]);
    if (!is_section && IsBlank(event.text) && (builder_.empty() || is_last)) return;
    has_section_ = has_section_ || is_section;
    builder_.set_collapse_space(!is_section && !preserves_space_[i]);
    builder_.AddDecoded(event.range, event.text);
  }

  size_t TakeStart(size_t i, bool in_text) {
    const XmlEvent& event = events_[i];
    const ByteRange whole{event.range.begin, events_[event.match].range.end};
    const bool kept = IsKept(event) || IsForeign(i);
    if (!kept) DeclareLanguage(i);
    if (!in_text) Flush();
    if (kept || whole.end == event.range.end) {  // <a/>
      const bool breaks = !kept && event.name == "br";
      if (in_text) builder_.Standalone(whole, /*ordered=*/breaks, /*is_word=*/kept, breaks);
      return event.match;
    }
    if (in_text) builder_.Open(event.range, event.name);
    return i;
  }

  bool IsKept(const XmlEvent& event) const {
    const ElementRules& rules = options_.elements;
    if (Has(rules.keep, event.name) || AttributeOf(bytes_, event, "translate") == "no" ||
        AttributeOf(bytes_, event, "its:translate") == "no" || AttributeOf(bytes_, event, "translatable") == "false") {
      return true;
    }
    return IsOneOf(event.name, {"codeblock", "codeph", "programlisting"}) && !Has(rules.block, event.name) &&
           !Has(rules.in_text, event.name);
  }

  // Whether an element is in another language than the source language. What the root says does not count.
  bool IsForeign(size_t i) const {
    const std::string_view language = AttributeOf(bytes_, events_[i], "xml:lang");
    return !language.empty() && !options_.source_language.empty() && !IsRoot(i) && !IsInSourceLanguage(language);
  }

  bool IsInSourceLanguage(std::string_view language) const {
    return AreSameLanguage(language, options_.source_language);
  }

  bool IsRoot(size_t i) const { return has_root_ && i == root_; }

  void DeclareLanguage(size_t i) {
    if (options_.target_language.empty()) return;
    const std::optional<ByteRange> language = FindAttribute(bytes_, events_[i].range, "xml:lang");
    if (!language.has_value() || language->begin == language->end) return;
    const std::string_view declared = bytes_.substr(language->begin, language->end - language->begin);
    if (IsRoot(i) || IsInSourceLanguage(declared)) {
      edits_.push_back({*language, EscapeXmlAttribute(options_.target_language)});
    }
  }

  void Flush() {
    const size_t units_before = units_.size();
    builder_.set_leave_out_ends(!has_section_);
    builder_.set_tags(has_section_);
    has_section_ = false;
    builder_.FinishEscaped(EscapeXml, &units_);
    if (units_.size() == units_before) return;
    PlacedUnit& unit = units_.back();
    if (IsSection(bytes_.substr(unit.place.begin, unit.place.end - unit.place.begin))) unit.write = WriteSection;
    if (has_root_ && !unit.is_cut && unit.markers.empty() && LooksLikeCode(unit.unit.source.text)) units_.pop_back();
  }

  const std::string_view bytes_;
  const std::vector<XmlEvent>& events_;
  const ParseOptions& options_;
  std::vector<bool> in_text_, preserves_space_;  // of each event, and of what is around all of them
  bool has_root_ = false;                        // one element is around everything: root_
  size_t root_ = 0;
  bool has_section_ = false;  // the unit that is being read has one
  UnitBuilder builder_;
  std::vector<PlacedUnit> units_;
  std::vector<Edit> edits_;
};

// Whether there is a declaration or a document type before the first element, which only a whole document has.
bool HasProlog(std::string_view bytes) {
  if (BeginsWithXmlDeclaration(bytes)) return true;
  for (size_t at = ByteOrderMark(bytes);;) {
    at = std::min(bytes.find_first_not_of(" \t\r\n", at), bytes.size());
    const std::string_view rest = bytes.substr(at);
    const bool is_comment = rest.starts_with("<!--");
    if (!is_comment && !rest.starts_with("<?")) return rest.starts_with("<!DOCTYPE");
    const size_t end = is_comment ? bytes.find("-->", at + 4) : bytes.find("?>", at + 2);
    if (end == std::string_view::npos) return false;
    at = end + (is_comment ? 3 : 2);
  }
}

}  // namespace

ParsedDocument ParseGenericXml(std::string_view bytes, const ParseOptions& options) {
  const absl::StatusOr<std::vector<XmlEvent>> events =
      HasProlog(bytes) ? ParseXml(bytes, "XML", options.limits) : ParseXmlPiece(bytes, "XML", options.limits);
  if (!events.ok()) return events.status();
  return XmlReader(bytes, *events, options).Read();
}

}  // namespace salient

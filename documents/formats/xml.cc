// XML without a more specific format: a unit is a run of text with its inline elements.
//
// An element is inline if its parent has text of its own or is inline itself; every other element is a block
// (options.elements overrides this). Not translated: attributes, comments, elements with translate="no", and the
// elements of options.elements.keep.
//
// A fragment without a root element is accepted, too.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/characters.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/unit_builder.h"
#include "documents/xml_events.h"

namespace salient {
namespace {

using Kind = XmlEvent::Kind;

constexpr std::string_view kOpening = "<piece>", kClosing = "</piece>";  // root element of a fragment, for Expat

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class XmlReader {
 public:
  XmlReader(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options)
      : bytes_(bytes),
        events_(events),
        options_(options),
        in_text_(events.size()),
        builder_(bytes, {.inline_rules = {options.keep_terms, /*tags=*/false}, .copies_markers = true}) {
    FindElementsInText();
  }

  ParsedDocument Read() {
    for (size_t i = 0; i < events_.size(); ++i) {
      i = Take(i);
      if (builder_.marker_count() > static_cast<size_t>(options_.limits.max_markers)) Flush();
    }
    Flush();
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), EncodingEdits(bytes_)),
                               options_.limits);
  }

 private:
  // Finds out for each element whether it is inline.
  void FindElementsInText() {
    const ElementRules& rules = options_.elements;
    std::vector<bool> has_text(events_.size());  // directly, not in its children
    std::vector<size_t> open;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind == Kind::kStart) open.push_back(i);
      if (events_[i].kind == Kind::kEnd) open.pop_back();
      if (events_[i].kind == Kind::kText && !open.empty() && !IsBlank(events_[i].text)) has_text[open.back()] = true;
    }
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind == Kind::kEnd) open.pop_back();
      if (events_[i].kind != Kind::kStart) continue;
      const std::string& name = events_[i].name;
      const bool beside_text = !open.empty() && (has_text[open.back()] || in_text_[open.back()]);
      in_text_[i] = Has(rules.in_text, name) || (!Has(rules.block, name) && (rules.listed_only || beside_text));
      if (open.empty()) in_text_[i] = false;  // the root is a block
      open.push_back(i);
    }
  }

  // Reads event i and what belongs to it; returns the index of the last event that was read.
  size_t Take(size_t i) {
    const XmlEvent& event = events_[i];
    const bool in_text = in_text_[event.kind == Kind::kEnd ? event.match : i];
    switch (event.kind) {
      case Kind::kText:
        builder_.AddDecoded(event.range, event.text);
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

  size_t TakeStart(size_t i, bool in_text) {
    const XmlEvent& event = events_[i];
    const ByteRange whole{event.range.begin, events_[event.match].range.end};
    const bool kept = Has(options_.elements.keep, event.name) || AttributeOf(bytes_, event, "translate") == "no";
    if (!in_text) Flush();
    if (kept || whole.end == event.range.end) {  // <a/>
      const bool breaks = !kept && event.name == "br";
      if (in_text) builder_.Standalone(whole, /*ordered=*/breaks, /*is_word=*/kept, breaks);
      return event.match;
    }
    if (in_text) builder_.Open(event.range, event.name);
    return i;
  }

  void Flush() {
    PlacedUnit unit;
    if (!builder_.Finish(&unit)) return;
    unit.write = WriteEscaped(EscapeXml);
    units_.push_back(std::move(unit));
  }

  const std::string_view bytes_;
  const std::vector<XmlEvent>& events_;
  const ParseOptions& options_;
  std::vector<bool> in_text_;
  UnitBuilder builder_;
  std::vector<PlacedUnit> units_;
};

// A fragment that was parsed as the content of a root element.
class Fragment final : public FormattedDocument {
 public:
  explicit Fragment(std::unique_ptr<FormattedDocument> whole) : whole_(std::move(whole)) {}

  const std::vector<Unit>& units() const override { return whole_->units(); }

  absl::StatusOr<std::string> Render(const std::vector<MarkedText>& translations) const override {
    absl::StatusOr<std::string> text = whole_->Render(translations);
    if (!text.ok()) return text;
    return text->substr(kOpening.size(), text->size() - kOpening.size() - kClosing.size());
  }

  size_t bytes() const override { return whole_->bytes(); }

 private:
  const std::unique_ptr<FormattedDocument> whole_;
};

ParsedDocument Parse(std::string_view bytes, const ParseOptions& options) {
  const absl::StatusOr<std::vector<XmlEvent>> events = ParseXml(bytes, "XML", options.limits);
  if (!events.ok()) return events.status();
  return XmlReader(bytes, *events, options).Read();
}

}  // namespace

ParsedDocument ParseGenericXml(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "XML", options.limits); !status.ok()) return status;
  const std::string_view text = bytes.substr(ByteOrderMark(bytes));
  ParsedDocument document = Parse(bytes, options);
  if (document.ok() || text.starts_with("<?xml") || text.starts_with("<!DOCTYPE")) return document;
  ParsedDocument whole = Parse(absl::StrCat(std::string(kOpening), std::string(bytes), std::string(kClosing)), options);
  if (!whole.ok()) return whole.status();
  return std::make_unique<Fragment>(*std::move(whole));
}

}  // namespace salient

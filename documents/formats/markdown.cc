// CommonMark with tables, strikethrough and task lists, read by md4c.
//
// md4c reports text as pointers into the document, but spans only by kind. The bytes between two texts are the
// delimiters of the spans that begin or end there, and their lengths follow from the kinds. If the lengths do not add
// up, the bytes become one marker that keeps its place.
//
// An image is one marker, and its alternative text is a unit of its own.
//
// Not translated: front matter, code, HTML blocks, elements that HTML keeps, too (syntax/html_elements.h), link
// destinations and definitions, math, templates, labels of footnotes, and lines that extensions of Markdown read by
// themselves (syntax/markdown_view.h). A changed paragraph is written as one line; hard breaks are markers.

#include <md4c.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/syntax/character_references.h"
#include "documents/syntax/html_elements.h"
#include "documents/syntax/html_tokens.h"
#include "documents/syntax/markdown_emphasis.h"
#include "documents/syntax/markdown_syntax.h"
#include "documents/syntax/markdown_view.h"
#include "documents/syntax/markdown_writer.h"
#include "documents/units/html_attributes.h"
#include "documents/units/unit_builder.h"

namespace salient {
namespace {

// One event that md4c reports within a paragraph, heading or table cell.
struct Event {
  enum class Kind { kText, kHtml, kEntity, kCode, kSoftBreak, kHardBreak, kEnter, kLeave };
  Kind kind = Kind::kText;
  ByteRange range;  // of a text; of a link's or an image's end that of its title, see TitleAt
  MD_SPANTYPE span = MD_SPAN_EM;

  bool is_text() const { return kind < Kind::kSoftBreak; }
  bool is_break() const { return kind == Kind::kSoftBreak || kind == Kind::kHardBreak; }
};

class MarkdownReader {
 public:
  MarkdownReader(std::string_view bytes, const ParseOptions& options)
      : bytes_(bytes),
        begin_(FrontMatterEnd(bytes)),
        view_(bytes, begin_),
        options_(options),
        rules_{.inline_rules = {options.keep_terms, /*tags=*/false, /*markdown=*/true}} {
    builders_.emplace_back(bytes, rules_);
  }

  ParsedDocument Read() {
    MD_PARSER parser{};
    parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS;
    parser.enter_block = [](MD_BLOCKTYPE type, void*, void* self) { return Self(self).EnterBlock(type); };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* self) { return Self(self).LeaveBlock(type); };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) { return Self(self).EnterSpan(type, detail); };
    parser.leave_span = [](MD_SPANTYPE type, void* detail, void* self) { return Self(self).LeaveSpan(type, detail); };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* self) {
      return Self(self).Text(type, text, size);
    };
    const std::string& text = view_.text();
    const int result = md_parse(text.data() + begin_, static_cast<MD_SIZE>(text.size() - begin_), &parser, this);
    if (!refusal_.ok()) return refusal_;
    if (result != 0) return absl::ResourceExhaustedError("Markdown: there is not enough memory to read it");
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), {}), options_.limits);
  }

 private:
  static MarkdownReader& Self(void* self) { return *static_cast<MarkdownReader*>(self); }

  int Refuse(std::string_view reason) {
    refusal_ = absl::ResourceExhaustedError(absl::StrCat("Markdown: ", std::string(reason)));
    return 1;
  }

  // Some Markdown expands a lot, such as a table with many columns. The limit is relative to the size of the document.
  int Count(size_t cost) {
    if (!refusal_.ok()) return 1;  // a unit was refused
    told_ += cost;
    return told_ > 16 * bytes_.size() + (size_t{1} << 20)
               ? Refuse("tables or links expand beyond all measure; make them smaller")
               : 0;
  }

  UnitBuilder& builder() { return builders_.back(); }

  int EnterBlock(MD_BLOCKTYPE type) {
    if (++depth_ > options_.limits.max_depth) {
      return Refuse(absl::StrCat("lists and quotations lie more than ", options_.limits.max_depth,
                                 " deep in each other; flatten the document"));
    }
    FinishLeaf();
    verbatim_ = type == MD_BLOCK_CODE || type == MD_BLOCK_HTML;
    return Count(1);
  }

  int LeaveBlock(MD_BLOCKTYPE) {
    --depth_;
    FinishLeaf();
    verbatim_ = false;
    return refusal_.ok() ? 0 : 1;
  }

  int EnterSpan(MD_SPANTYPE type, void* detail) {
    events_.push_back({Event::Kind::kEnter, {}, type});
    size_t cost = 1;
    if (type == MD_SPAN_A) {
      const auto* link = static_cast<MD_SPAN_A_DETAIL*>(detail);
      cost += link->href.size + link->title.size;
    } else if (type == MD_SPAN_IMG) {
      if (++image_depth_ > options_.limits.max_depth) {
        return Refuse(
            absl::StrCat("images lie more than ", options_.limits.max_depth, " deep in each other; take them apart"));
      }
      const auto* image = static_cast<MD_SPAN_IMG_DETAIL*>(detail);
      cost += image->src.size + image->title.size;
    }
    return Count(cost);
  }

  int LeaveSpan(MD_SPANTYPE type, void* detail) {
    if (type == MD_SPAN_IMG) --image_depth_;
    ByteRange title;
    if (type == MD_SPAN_A) title = TitleAt(static_cast<MD_SPAN_A_DETAIL*>(detail)->title);
    if (type == MD_SPAN_IMG) title = TitleAt(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->title);
    events_.push_back({Event::Kind::kLeave, title, type});
    return Count(1);
  }

  // Where a title stands, which may be in a definition. Empty if there is none, or md4c made it of several parts: it
  // has an escape, a reference or a line break.
  ByteRange TitleAt(const MD_ATTRIBUTE& title) const {
    const std::string& all = view_.text();
    if (title.size == 0 || title.text < all.data() || title.text + title.size > all.data() + all.size()) return {};
    const auto begin = static_cast<size_t>(title.text - all.data());
    return view_.SourceOf({begin, begin + title.size});
  }

  int Text(MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size) {
    if (verbatim_) return 0;
    Event event;
    switch (type) {
      case MD_TEXT_BR:
        event.kind = Event::Kind::kHardBreak;
        break;
      case MD_TEXT_SOFTBR:
        event.kind = Event::Kind::kSoftBreak;
        break;
      case MD_TEXT_HTML:
        event.kind = Event::Kind::kHtml;
        break;
      case MD_TEXT_ENTITY:
        event.kind = Event::Kind::kEntity;
        break;
      case MD_TEXT_CODE:
        event.kind = Event::Kind::kCode;
        break;
      default:
        break;
    }
    if (event.is_text()) {
      const std::string& all = view_.text();
      if (text < all.data() || text + size > all.data() + all.size()) return 0;  // text that md4c made
      const auto begin = static_cast<size_t>(text - all.data());
      event.range = view_.SourceOf({begin, begin + size});
      if (ContinuesTag(event)) {
        events_.back().range.end = event.range.end;
        return Count(1);
      }
    }
    events_.push_back(event);
    return Count(1);
  }

  // Whether the event goes on with the tag or comment of the last one. md4c reports each line of a tag by itself, and
  // the white space at its end, too.
  bool ContinuesTag(const Event& event) const {
    if (events_.empty() || event.kind != Event::Kind::kHtml || events_.back().kind != Event::Kind::kHtml) return false;
    return event.range.begin > events_.back().range.end || bytes_[event.range.begin] != '<';
  }

  // ---- Evaluation of a paragraph's events

  void FinishLeaf() {
    size_t first = 0;
    while (first < events_.size() && !events_[first].is_text()) ++first;
    if (first < events_.size()) {
      at_ = LeadingBegin(first);
      opaque_depth_ = 0;
      const std::vector<KeptElement> kept = FindKeptElements();
      for (size_t i = 0; i < events_.size();) {
        if (kept[i].last > 0) {
          const ByteRange whole{events_[i].range.begin, events_[kept[i].last].range.end};
          builder().Standalone(whole, /*ordered=*/false, kept[i].is_word);
          at_ = whole.end;
          i = kept[i].last + 1;
          continue;
        }
        if (events_[i].is_text()) {
          TakeText(events_[i++]);
          continue;
        }
        size_t next = i;
        while (next < events_.size() && !events_[next].is_text()) ++next;
        TakeGap(i, next);
        i = next;
      }
      while (!images_.empty()) EndImage(at_);  // whose end is in a marker that TakeWhole made
      Flush();
    }
    events_.clear();
    links_.clear();
    labels_.clear();
  }

  // An element of HTML that is not translated, from its start tag to the event `last`, its end tag; 0: there is none.
  struct KeptElement {
    size_t last = 0;
    bool is_kept = false, is_word = false;
  };

  // For each event. An element that does not end in the span in which it begins is none of them.
  std::vector<KeptElement> FindKeptElements() const {
    std::vector<KeptElement> elements(events_.size());
    TagPairing pairing;
    std::vector<size_t> spans;  // those that are open
    for (size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (event.kind == Event::Kind::kEnter) spans.push_back(i);
      if (event.kind == Event::Kind::kLeave && !spans.empty()) spans.pop_back();
      if (event.kind != Event::Kind::kHtml) continue;
      const std::string_view bytes = bytes_.substr(event.range.begin, event.range.end - event.range.begin);
      const std::vector<HtmlToken> tokens = TokenizeHtml(bytes);
      if (tokens.size() != 1 || tokens[0].self_closing) continue;
      const HtmlToken& tag = tokens[0];
      const std::string name = absl::StrCat(tag.name, " ", spans.empty() ? 0 : spans.back() + 1);
      if (tag.kind == HtmlToken::Kind::kStart) {
        const bool says_so = IsKeptElement(bytes, tag, options_.source_language);
        elements[i].is_kept = says_so || IsOpaqueElement(tag.name);
        elements[i].is_word = says_so || IsWordElement(tag.name);
        pairing.Start(name, i);
      } else if (tag.kind == HtmlToken::Kind::kEnd) {
        const std::optional<size_t> start = pairing.End(name);
        if (start.has_value() && elements[*start].is_kept) elements[*start].last = i;
      }
    }
    return elements;
  }

  // The beginning of the delimiters before the first text.
  size_t LeadingBegin(size_t first) const {
    size_t at = BeginWithEscape(events_[first]);
    for (size_t i = first; i-- > 0;) {
      const size_t length =
          events_[i].kind == Event::Kind::kEnter ? OpeningLength(bytes_, begin_, events_[i].span, at) : 0;
      at -= std::min(length, at - begin_);
    }
    return at;
  }

  // Where a text begins, with the backslash before its first character. md4c reports every other backslash as text.
  size_t BeginWithEscape(const Event& text) const {
    const size_t begin = text.range.begin;
    return text.kind == Event::Kind::kText && begin > at_ && bytes_[begin - 1] == '\\' ? begin - 1 : begin;
  }

  // Reads events [i, next), none of which is text, with the bytes from at_ up to the text `next`.
  void TakeGap(size_t i, size_t next) {
    const bool last = next == events_.size();
    const size_t gap_end = last ? bytes_.size() : BeginWithEscape(events_[next]);
    const std::string_view text = bytes_.substr(0, gap_end);
    const size_t opaque_before = opaque_depth_, opaque_begin_before = opaque_begin_;
    const bool breaks = std::any_of(events_.begin() + i, events_.begin() + next,
                                    [](const Event& event) { return event.kind == Event::Kind::kHardBreak; });
    std::vector<ByteRange> ranges;
    size_t at = at_;
    for (size_t k = i; k < next; ++k) {
      const Event& event = events_[k];
      size_t end = at;
      if (event.is_break()) {
        end = last ? at : BreakEnd(k, next, at, gap_end);
      } else {
        const bool closing = event.kind == Event::Kind::kLeave;
        end = DelimiterEnd(text, event.span, closing, at);
        if (!IsDelimiter(text, event.span, closing, {at, end})) return TakeWhole(last ? at_ : gap_end, breaks);
      }
      if (end > gap_end || end < at) return TakeWhole(last ? at_ : gap_end, breaks);
      ranges.push_back({at, end});
      at = end;
    }
    if (!last && at != gap_end) {
      opaque_depth_ = opaque_before;
      opaque_begin_ = opaque_begin_before;
      return TakeWhole(gap_end, breaks);
    }
    for (size_t k = i; k < next; ++k) TakeEvent(events_[k], ranges[k - i]);
    at_ = at;
  }

  // The end of a line break and of the next line's prefix. Delimiters of spans that open after the break are left out.
  size_t BreakEnd(size_t k, size_t next, size_t at, size_t gap_end) const {
    const bool before_break = std::any_of(events_.begin() + k + 1, events_.begin() + next,
                                          [](const Event& event) { return event.is_break(); });
    if (before_break) return NextLine(at);  // the next line has no text
    size_t end = gap_end;
    for (size_t later = next; later-- > k + 1;) {
      if (events_[later].kind != Event::Kind::kEnter) return end;
      const size_t length = OpeningLength(bytes_, begin_, events_[later].span, end);
      end -= std::min(length, end - at);
    }
    return end;
  }

  // Behind the line break at `at` or after it, and behind the prefix of the next line.
  size_t NextLine(size_t at) const {
    const size_t end = std::min(bytes_.find_first_of("\r\n", at), bytes_.size());
    const size_t line = std::min(end + (bytes_.substr(end).starts_with("\r\n") ? 2 : 1), bytes_.size());
    return std::min(bytes_.find_first_not_of(" \t>", line), bytes_.size());
  }

  // Makes one marker of bytes that could not be divided into delimiters.
  void TakeWhole(size_t end, bool breaks) {
    if (end > at_ && opaque_depth_ == 0) builder().Standalone({at_, end}, /*ordered=*/true, /*is_word=*/false, breaks);
    at_ = end;
  }

  void TakeEvent(const Event& event, ByteRange range) {
    const bool opaque = event.span == MD_SPAN_CODE || (event.span == MD_SPAN_A && bytes_[range.begin] == '<');
    switch (event.kind) {
      case Event::Kind::kEnter:
        if (opaque_depth_ > 0 || opaque) {
          if (opaque_depth_++ == 0) opaque_begin_ = range.begin;
        } else {
          if (event.span == MD_SPAN_IMG) BeginImage(range.begin);
          if (event.span == MD_SPAN_A || event.span == MD_SPAN_IMG) links_.push_back(range.end);
          builder().Open(range, SpanName(event.span));
        }
        break;
      case Event::Kind::kLeave:
        if (opaque_depth_ > 0) {
          if (--opaque_depth_ == 0)
            builder().Standalone({opaque_begin_, range.end}, /*ordered=*/false, /*is_word=*/true);
        } else {
          builder().Close(range, SpanName(event.span), /*stays=*/NoteLabel(event, range));
          TakeTitle(event, range);
          if (event.span == MD_SPAN_IMG && !images_.empty()) EndImage(range.end);
        }
        break;
      case Event::Kind::kSoftBreak:
        if (opaque_depth_ > 0) break;
        if (view_.HidesIn(range)) {  // the colon of a definition
          builder().Standalone(range, /*ordered=*/true, /*is_word=*/false, /*breaks=*/true);
        } else {
          builder().AddDecoded(range, " ");
        }
        break;
      default:
        if (opaque_depth_ == 0) builder().Standalone(range, /*ordered=*/true, /*is_word=*/false, /*breaks=*/true);
    }
  }

  // What follows is the alternative text of an image.
  void BeginImage(size_t begin) {
    images_.push_back(begin);
    builders_.emplace_back(bytes_, rules_);
  }

  void EndImage(size_t end) {
    Flush();
    builders_.pop_back();
    builder().Standalone({images_.back(), end}, /*ordered=*/false, /*is_word=*/false);
    images_.pop_back();
  }

  // "[Label]" and "[Label][]" refer to a definition by their text. A translation must write "[Text][Label]" instead.
  // Returns true if the link is a reference.
  bool NoteLabel(const Event& event, ByteRange close) {
    if ((event.span != MD_SPAN_A && event.span != MD_SPAN_IMG) || links_.empty()) return false;
    const std::string_view end = bytes_.substr(close.begin, close.end - close.begin);
    const size_t begin = links_.back();
    links_.pop_back();
    if (end == "]" || end == "][]") labels_[close.begin] = bytes_.substr(begin, close.begin - begin);
    return !end.starts_with("](");
  }

  static const char* SpanName(MD_SPANTYPE span) {
    switch (span) {
      case MD_SPAN_EM:
        return "em";
      case MD_SPAN_STRONG:
        return "strong";
      case MD_SPAN_DEL:
        return "del";
      case MD_SPAN_IMG:
        return "img";
      default:
        return "a";
    }
  }

  void TakeTitle(const Event& event, ByteRange link) {
    if (event.span != MD_SPAN_A && event.span != MD_SPAN_IMG) return;
    std::optional<ByteRange> title = LinkTitle(bytes_, link);
    if (bytes_.substr(link.begin, 2) != "](" && event.range.begin < event.range.end) {
      // Several links may refer to one definition.
      if (!definition_titles_.insert(event.range.begin).second) return;
      title = event.range;
    }
    if (!title.has_value()) return;
    UnitBuilder builder(bytes_, rules_);
    const std::string_view text = bytes_.substr(0, title->end);
    size_t done = title->begin;
    for (size_t at = done; at < text.size(); ++at) {
      const bool is_break = text[at] == '\n' || text[at] == '\r';
      if (!is_break && !IsEscape(text, at)) continue;
      builder.AddTextWithReferences({done, at}, /*in_attribute=*/true);
      done = is_break ? std::min(NextLine(at), text.size()) : at + 2;
      builder.AddDecoded({at, done}, is_break ? " " : text.substr(at + 1, 1));
      at = done - 1;
    }
    builder.AddTextWithReferences({done, title->end}, /*in_attribute=*/true);
    PlacedUnit unit;
    if (!builder.Finish(&unit)) return;
    unit.write = WriteEscaped(
        [quote = bytes_[title->end]](std::string_view title_text) { return WriteTitle(title_text, quote); });
    units_.push_back(std::move(unit));
  }

  void TakeText(const Event& event) {
    ByteRange range = event.range;
    if (opaque_depth_ == 0) {
      const size_t escape = at_;  // where TakeGap stopped: at a backslash, or at the text
      if (event.kind == Event::Kind::kText && range.begin > escape && range.begin < range.end) {
        if (range.begin == escape + 1 && bytes_[escape] == '\\') {
          builder().AddDecoded({escape, range.begin + 1}, bytes_.substr(range.begin, 1));
          ++range.begin;
        } else {
          builder().Standalone({escape, range.begin}, /*ordered=*/true, /*is_word=*/false);
        }
      }
      AddText(event.kind, range);
    }
    at_ = event.range.end;
  }

  void AddText(Event::Kind kind, ByteRange range) {
    if (kind == Event::Kind::kText) return builder().AddText(range);
    if (kind == Event::Kind::kEntity) {
      const CharacterReference reference = ReadCharacterReference(bytes_.substr(0, range.end), range.begin);
      if (reference.length == range.end - range.begin) return builder().AddDecoded(range, reference.text);
      return builder().Standalone(range, /*ordered=*/false, /*is_word=*/true);
    }
    const std::vector<HtmlToken> tokens = TokenizeHtml(bytes_.substr(range.begin, range.end - range.begin));
    if (tokens.size() == 1 && tokens[0].kind == HtmlToken::Kind::kStart) TakeAttributes(tokens[0], range.begin);
    const bool is_tag =
        tokens.size() == 1 && tokens[0].name != "br" && tokens[0].name != "img" && !tokens[0].self_closing;
    if (is_tag && tokens[0].kind == HtmlToken::Kind::kStart) return builder().Open(range, tokens[0].name);
    if (is_tag && tokens[0].kind == HtmlToken::Kind::kEnd) return builder().Close(range, tokens[0].name);
    const bool breaks = !tokens.empty() && tokens[0].name == "br";
    builder().Standalone(range, /*ordered=*/breaks, /*is_word=*/false, breaks);
  }

  // Of a tag that was read from the bytes at `begin`.
  void TakeAttributes(HtmlToken tag, size_t begin) {
    for (HtmlAttribute& attribute : tag.attributes) {
      attribute.value.begin += begin;
      attribute.value.end += begin;
    }
    if (IsKeptElement(bytes_, tag, options_.source_language)) return;
    AddAttributeUnits(bytes_, tag, {.inline_rules = {options_.keep_terms}, .copies_markers = true}, &units_);
  }

  void Flush() {
    PlacedUnit unit;
    if (!builder().Finish(&unit)) return;
    if (unit.markers.size() > static_cast<size_t>(options_.limits.max_markers)) {
      Refuse(absl::StrCat("a paragraph has more than ", options_.limits.max_markers,
                          " spans, placeholders and links; divide it"));
    }
    std::map<size_t, std::string> labelled;  // key: index of the marker
    for (size_t i = 0; i < unit.markers.size(); ++i) {
      const auto label = labels_.find(unit.markers[i].begin);
      if (label != labels_.end()) labelled[i] = absl::StrCat("][", label->second, "]");
    }
    unit.write = [labelled, writer = MarkdownWriter(unit.unit.source.text, BytesBetweenMarkers(unit))](
                     const Unit& source, const MarkedText& translation, std::vector<std::string> markers) {
      const MarkedText readable = WithReadableEmphasis(source.markers, translation, &markers);
      const std::string_view text = readable.text;
      std::string out;
      size_t done = 0;
      bool at_beginning = true;  // of a line
      for (const MarkerPlace& place : readable.places) {
        out.append(writer.Write(text.substr(done, place.at - done), at_beginning));
        const auto label = labelled.find(static_cast<size_t>(place.marker));
        out.append(label == labelled.end() ? markers[place.marker] : label->second);
        at_beginning = markers[place.marker].find_first_of("\r\n") != std::string::npos;
        done = place.at;
      }
      return out.append(writer.Write(text.substr(done), at_beginning));
    };
    units_.push_back(std::move(unit));
    if (HasTooManyUnits(units_.size(), options_.limits)) refusal_ = TooManyUnits(options_.limits);
  }

  std::string BytesBetweenMarkers(const PlacedUnit& unit) const {
    std::string between;
    size_t done = unit.place.begin;
    for (const ByteRange& marker : unit.markers) {
      if (marker.begin > done) between.append(bytes_.substr(done, marker.begin - done));
      done = std::max(done, marker.end);
    }
    return between.append(bytes_.substr(done, unit.place.end - done));
  }

  const std::string_view bytes_;
  const size_t begin_;  // after the front matter
  const MarkdownView view_;
  const ParseOptions& options_;
  const UnitRules rules_;
  std::vector<UnitBuilder> builders_;  // of the paragraph, and of the alternative texts of the images that are open
  std::vector<size_t> images_;         // where these images begin
  std::vector<PlacedUnit> units_;
  std::vector<Event> events_;  // of the paragraph being read
  int32_t depth_ = 0, image_depth_ = 0;
  size_t told_ = 0;
  bool verbatim_ = false;
  size_t at_ = 0;  // the bytes before it are done
  size_t opaque_depth_ = 0, opaque_begin_ = 0;
  std::set<size_t> definition_titles_;    // that are units: where they begin
  std::vector<size_t> links_;             // open links: where their text begins
  std::map<size_t, std::string> labels_;  // labels of references by text; key: where the end begins
  absl::Status refusal_;
};

}  // namespace

ParsedDocument ParseMarkdown(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "Markdown", options.limits); !status.ok()) return status;
  return MarkdownReader(bytes, options).Read();
}

}  // namespace salient

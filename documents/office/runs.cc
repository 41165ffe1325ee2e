#include "documents/office/runs.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/language.h"
#include "documents/office/character_escapes.h"
#include "documents/office/word_fields.h"
#include "documents/units/string_unit.h"
#include "documents/units/unit_builder.h"

namespace salient {
namespace {

using Kind = XmlEvent::Kind;

bool IsNamed(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The properties of a run, as RunNames::plain_properties has them. Runs with the same ones share them, and so do the
// parts of a run: one run may have megabytes of properties and a thousand texts.
using Properties = std::shared_ptr<const std::string>;

// What a paragraph consists of, in order.
struct Piece {
  enum class Kind { kText, kObject, kOpen, kClose };
  Kind kind = Kind::kText;
  ByteRange range;
  std::string_view text;  // kText: references resolved
  std::string name;       // kOpen and kClose
  Properties properties;  // kText: of its run; not kText: of the run within which it begins, null where it does not
  bool ends_run = false;  // not kText: it ends within a run
  bool breaks = false;    // kObject: a line break or a tab
  std::string_view language = {};  // kText: of its run; empty: that of the document
  ByteRange raised = {};           // kText: its run, if that is a superscript and has nothing but text; otherwise empty
};

// What a marker is to the writer.
struct Role {
  enum class Kind { kFormat, kText, kRaw };  // kText: a placeholder
  Kind kind = Kind::kText;
  Properties properties;  // kFormat; kRaw: see Piece
  bool ends_run = false;  // kRaw: see Piece
};

struct Writer {
  std::string run, text, text_tag;  // element names, and the start tag of a text
  Properties base;                  // of text without a marker
  std::vector<Role> roles;          // of markers
  std::string (*escape)(std::string_view) = EscapeXml;

  // The most that the tags and properties of its runs take, wherever a translation has the markers: a marker can have
  // a run before it and one after it.
  size_t most_written() const {
    size_t runs = 1, longest = base->size();
    for (const Role& role : roles) {
      if (role.kind == Role::Kind::kText) continue;
      runs += role.kind == Role::Kind::kRaw ? 2 : 1;
      if (role.properties != nullptr) longest = std::max(longest, role.properties->size());
    }
    return runs * (longest + 2 * run.size() + text.size() + text_tag.size() + std::string_view("<></></>").size());
  }

  std::string operator()(const Unit& unit, const MarkedText& translation,
                         const std::vector<std::string>& markers) const {
    std::string out, pending;
    std::vector<const std::string*> formats = {base.get()};
    const auto write_run = [&](const std::string& properties, const std::string& content) {
      out.append("<" + run + ">").append(properties).append(content).append("</" + run + ">");
    };
    const auto flush = [&] {
      if (!pending.empty()) write_run(*formats.back(), text_tag + escape(pending) + "</" + text + ">");
      pending.clear();
    };
    size_t done = 0;
    for (const MarkerPlace& place : translation.places) {
      pending.append(translation.text, done, place.at - done);
      done = place.at;
      const Marker& marker = unit.markers[place.marker];
      const Role& role = roles[place.marker];
      if (role.kind == Role::Kind::kText) {
        pending.append(marker.bytes);
        continue;
      }
      flush();
      if (role.kind == Role::Kind::kRaw) {
        if (role.properties != nullptr) out.append("<" + run + ">").append(*role.properties);
        out.append(markers[place.marker]);
        if (role.ends_run) out.append("</" + run + ">");
      } else if (marker.kind == MarkerKind::kOpen) {
        formats.push_back(role.properties.get());
      } else if (marker.kind == MarkerKind::kClose) {
        formats.pop_back();
      }
    }
    pending.append(translation.text, done);
    flush();
    return out;
  }
};

std::string EscapeCharactersAndXml(std::string_view text) { return EscapeXml(WithCharacterEscapes(text)); }

class RunReader {
 public:
  RunReader(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options,
            const RunNames& names)
      : bytes_(bytes),
        events_(events),
        options_(options),
        names_(names),
        builder_(bytes, {{options.keep_terms, /*tags=*/false}, /*collapse_space=*/false, /*leave_out_ends=*/false}),
        fields_(FindFields(bytes, events, names.prefix, names.opaque)),
        escape_(names.escapes_characters ? EscapeCharactersAndXml : EscapeXml),
        control_(names.prefix + "sdt") {
    runs_before_.resize(events.size() + 1);
    paragraphs_before_.resize(events.size() + 1);
    for (size_t i = 0; i < events.size(); ++i) {
      const bool start = events[i].kind == Kind::kStart;
      runs_before_[i + 1] = runs_before_[i] + (start && events[i].name == names.run);
      paragraphs_before_[i + 1] = paragraphs_before_[i] + (start && events[i].name == names.paragraph);
    }
  }

  PartContent Read() {
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (IsFilledByWord(i)) {
        i = Match(i);
        continue;
      }
      if (events_[i].name == names_.paragraph) TakeParagraph(i);
      if (events_[i].name.ends_with(":docPr") || events_[i].name.ends_with(":cNvPr")) TakeHints(i, {"title", "descr"});
      if (events_[i].name == names_.link) TakeHints(i, {names_.link_hint});
    }
    content_.edits = EncodingEdits(bytes_);
    return std::move(content_);
  }

 private:
  size_t Match(size_t i) const { return events_[i].match; }
  ByteRange Whole(size_t i) const { return {events_[i].range.begin, events_[Match(i)].range.end}; }
  std::string_view Bytes(ByteRange range) const { return bytes_.substr(range.begin, range.end - range.begin); }

  // Calls visit(range, text) for each part of a text. The parts last as long as this reader.
  template <typename Visit>
  void VisitText(size_t start, const Visit& visit) {
    for (size_t i = start + 1; i < Match(start); ++i) {
      const ByteRange range = events_[i].range;
      const std::string& text = events_[i].text;
      if (!names_.escapes_characters) {
        visit(range, text);
      } else if (Bytes(range) != text) {
        visit(range, decoded_.emplace_back(WithoutCharacterEscapes(text)));
      } else {
        VisitEscapes(range, text, visit);
      }
    }
  }

  template <typename Visit>
  void VisitEscapes(ByteRange range, std::string_view text, const Visit& visit) {
    size_t done = 0;
    const auto visit_up_to = [&](size_t end) {
      if (end > done) visit({range.begin + done, range.begin + end}, text.substr(done, end - done));
      done = end;
    };
    for (size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
      CharacterEscape escape = at < done ? CharacterEscape() : ReadCharacterEscape(text, at);
      if (escape.length == 0) continue;
      visit_up_to(at);
      done = at + escape.length;
      visit({range.begin + at, range.begin + done}, decoded_.emplace_back(std::move(escape.text)));
    }
    visit_up_to(text.size());
  }

  // Attributes with text: the alternative text of a picture and similar, the tooltip of a link.
  void TakeHints(size_t element, std::initializer_list<std::string> attributes) {
    for (const std::string& name : attributes) {
      const std::optional<ByteRange> value = FindAttribute(bytes_, events_[element].range, name);
      if (!value.has_value() || LooksLikeCode(Bytes(*value))) continue;
      builder_.AddTextWithReferences(*value, /*in_attribute=*/true);
      builder_.FinishEscaped(EscapeXmlAttribute, &content_.units);
    }
  }

  void TakeParagraph(size_t start) {
    pieces_.clear();
    paragraph_ = start;
    ByteRange place{bytes_.size(), 0};
    std::vector<size_t> bare_texts;
    bool has_runs = false;
    for (size_t i = start + 1; i < Match(start); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (!IsNamed(events_[i].name, names_.outside)) {
        const ByteRange whole = Whole(i);
        place = {std::min(place.begin, whole.begin), std::max(place.end, whole.end)};
        if (events_[i].name == names_.text) {
          bare_texts.push_back(i);
        } else {
          has_runs = true;
        }
      }
      i = Match(i);
    }
    if (!has_runs) {
      for (const size_t text : bare_texts) TakeBareText(text);
      return;
    }
    TakeChildren(start + 1, Match(start));
    if (!IsForeign()) Build(place);
  }

  // Whether the paragraph is marked as of another language than the document, and is in that language. Word often marks
  // text with the language of the keyboard.
  bool IsForeign() const {
    if (options_.source_language.empty()) return false;
    std::string_view language;
    std::string text;
    for (const Piece& piece : pieces_) {
      if (piece.kind != Piece::Kind::kText || IsBlank(piece.text)) continue;
      if (piece.language.empty() || AreSameLanguage(piece.language, options_.source_language)) return false;
      if (!language.empty() && !AreSameLanguage(piece.language, language)) return false;
      language = piece.language;
      text += piece.text;
    }
    if (language.empty()) return false;
    const std::vector<DetectedLanguage> detected = DetectLanguages(text, /*markup=*/false);
    return !detected.empty() && detected[0].is_reliable && AreSameLanguage(detected[0].language, language);
  }

  // A text without a run, as a cell of a spreadsheet has it. Beside runs such a text is like that of a run.
  void TakeBareText(size_t start) {
    VisitText(start, [this](ByteRange range, std::string_view text) { builder_.AddDecoded(range, text); });
    const ByteRange place{events_[start].range.end, events_[Match(start)].range.begin};
    PlacedUnit unit;
    if (!builder_.Finish(&unit)) return;
    unit.place = place;
    unit.write = WriteEscaped(escape_);
    content_.units.push_back(std::move(unit));
  }

  // The first part of a field that has some of the events from `begin` to `last`. Those in text boxes and notes within
  // the paragraph are not parts of it.
  const FieldPart* FieldPartIn(size_t begin, size_t last) const {
    auto part = std::lower_bound(fields_.begin(), fields_.end(), begin,
                                 [](const FieldPart& field, size_t event) { return field.last < event; });
    while (part != fields_.end() && part->first <= last && part->story > paragraph_) ++part;
    return part == fields_.end() || part->first > last ? nullptr : &*part;
  }

  // Takes the elements of one level, from event `begin` to `end`. A part of a field is one piece, from the element in
  // which it begins to the one in which it ends, or to the end of the paragraph.
  void TakeChildren(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (begin > paragraph_ + 1 || !IsNamed(events_[i].name, names_.outside)) {
        size_t done = i;  // what is before this event has been taken
        while (done < Match(i)) {
          const FieldPart* field = FieldPartIn(done, Match(i));
          if (field == nullptr) break;
          const bool inside = field->first > i && field->last < Match(i);
          if (inside && events_[i].name != names_.run) break;
          TakeField(*field, end, &i, &done);
        }
        if (done == i) {
          TakeChild(i);
        } else if (done < Match(i)) {
          TakeRun(i, done, Match(i));
        }
      }
      i = Match(i);
    }
  }

  // Takes what is in element *i before the part of a field, and the part. Sets *i to the element in which the part
  // ends, and *done to the event after it.
  void TakeField(const FieldPart& field, size_t level_end, size_t* i, size_t* done) {
    Piece piece{PieceKindOf(field), Whole(*i), "", absl::StrCat("field ", field.field)};
    const bool in_run = events_[*i].name == names_.run && field.first > *i;
    if (in_run && (*done > *i || HasContent(*i + 1, field.first))) {
      TakeRun(*i, std::max(*done, *i + 1), field.first);
      piece.range.begin = events_[field.first].range.begin;
      piece.properties = PropertiesOf(*i);
    }
    size_t last = *i;
    for (size_t k = Match(*i) + 1; Match(last) < field.last && k < level_end; ++k) {
      if (events_[k].kind != Kind::kStart) continue;
      last = k;
      k = Match(k);
    }
    piece.range.end = Whole(last).end;
    *done = Match(last);
    const bool ends_in_run = events_[last].name == names_.run && field.last < Match(last);
    if (ends_in_run && HasContent(Match(field.last) + 1, Match(last))) {
      piece.range.end = Whole(field.last).end;
      piece.ends_run = true;
      *done = Match(field.last) + 1;
    }
    *i = last;
    pieces_.push_back(std::move(piece));
  }

  // A part that goes beyond the paragraph has no partner here.
  Piece::Kind PieceKindOf(const FieldPart& field) const {
    const bool whole = field.first > paragraph_ && field.last < Match(paragraph_);
    if (!whole || field.kind == FieldPart::Kind::kWhole) return Piece::Kind::kObject;
    return field.kind == FieldPart::Kind::kOpen ? Piece::Kind::kOpen : Piece::Kind::kClose;
  }

  // Whether the events of a run from `begin` to `end` have more than its properties.
  bool HasContent(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (events_[i].name != names_.properties && !IsNamed(events_[i].name, names_.dropped)) return true;
      i = Match(i);
    }
    return false;
  }

  void TakeChild(size_t i) {
    const std::string& name = events_[i].name;
    if (IsNamed(name, names_.dropped)) return;
    const bool holds_runs = runs_before_[Match(i)] > runs_before_[i + 1];
    const bool holds_paragraphs = paragraphs_before_[Match(i)] > paragraphs_before_[i + 1];
    if (name == names_.run) {
      TakeRun(i, i + 1, Match(i));
    } else if (name == names_.text) {
      TakeText(i, Shared(""), "");
    } else if (holds_runs && !holds_paragraphs && !IsKept(i)) {
      // Properties of a container belong to its beginning: <w:sdt><w:sdtPr>...</w:sdtPr><w:sdtContent>.
      size_t inner = i;
      for (size_t k = i + 1; k < Match(i); ++k) {
        if (events_[k].kind == Kind::kStart && events_[k].name == names_.prefix + "sdtContent") inner = k;
        if (inner != i) break;
        if (events_[k].kind == Kind::kStart) k = Match(k);
      }
      pieces_.push_back({Piece::Kind::kOpen, {events_[i].range.begin, events_[inner].range.end}, "", name});
      TakeChildren(inner + 1, Match(inner));
      pieces_.push_back(
          {Piece::Kind::kClose, {events_[Match(inner)].range.begin, events_[Match(i)].range.end}, "", name});
    } else {
      pieces_.push_back({.kind = Piece::Kind::kObject, .range = Whole(i), .breaks = Breaks(name)});
    }
  }

  // Whether an element is a line break or a tab.
  bool Breaks(std::string_view name) const {
    if (!name.starts_with(names_.prefix)) return false;
    name.remove_prefix(names_.prefix.size());
    return name == "br" || name == "cr" || name == "tab" || name == "ptab";
  }

  // Whether an element is kept with the runs in it.
  bool IsKept(size_t i) const {
    if (IsNamed(events_[i].name, names_.opaque) || IsFilledByWord(i)) return true;
    return events_[i].name == names_.prefix + "fldSimple" &&
           !IsResultTranslated(AttributeOf(bytes_, events_[i], names_.prefix + "instr"));
  }

  // Whether an element is a content control whose text is not free: it is bound to data from which Word writes it
  // again, or is one of a list or a date. The prompt of an empty control is text.
  bool IsFilledByWord(size_t control) const {
    if (events_[control].name != control_) return false;
    bool is_filled = false, has_prompt = false;
    for (size_t i = control + 1; i < Match(control); ++i) {
      if (events_[i].kind != Kind::kStart || events_[i].name == control_ + "Pr") continue;  // its properties are within
      const std::string_view name = std::string_view(events_[i].name).substr(events_[i].name.find(':') + 1);
      is_filled = is_filled || IsOneOf(name, {"dataBinding", "dropDownList", "comboBox", "date"});
      has_prompt = has_prompt || name == "showingPlcHdr";
      i = Match(i);
    }
    return is_filled && !has_prompt;
  }

  std::string ReadProperties(size_t run) const {
    for (size_t i = run + 1; i < Match(run); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (events_[i].name == names_.properties) {
        return names_.plain_properties(Bytes(Whole(i)), names_.prefix, options_.target_language);
      }
      i = Match(i);
    }
    return "";
  }

  std::string_view LanguageOf(size_t run) const {
    if (names_.language_element.empty()) return "";
    for (size_t i = run + 1; i < Match(run); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (events_[i].name == names_.language_element) return AttributeOf(bytes_, events_[i], names_.language_attribute);
      if (events_[i].name != names_.properties) i = Match(i);
    }
    return "";
  }

  // The object that all equal properties share.
  Properties Shared(std::string bytes) {
    const auto properties = std::make_shared<const std::string>(std::move(bytes));
    return properties_.emplace(*properties, properties).first->second;
  }

  // Reads them once for all parts of a run.
  const Properties& PropertiesOf(size_t run) {
    if (read_run_ != run) {
      read_properties_ = Shared(ReadProperties(run));
      read_language_ = LanguageOf(run);
      read_run_ = run;
    }
    return read_properties_;
  }

  void TakeText(size_t start, const Properties& properties, std::string_view language, ByteRange raised = {}) {
    VisitText(start, [&](ByteRange range, std::string_view text) {
      pieces_.push_back({Piece::Kind::kText, range, text, "", properties});
      pieces_.back().language = language;
      pieces_.back().raised = raised;
    });
  }

  // Whether a run is a superscript and has nothing but text.
  bool IsRaisedText(size_t run, std::string_view properties) const {
    for (size_t i = run + 1; i < Match(run); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      const bool is_text = events_[i].name == names_.text || events_[i].name == names_.properties;
      if (!is_text && !IsNamed(events_[i].name, names_.dropped)) return false;
      i = Match(i);
    }
    // <w:vertAlign w:val="superscript"/>; in drawings the height in thousandths: <a:rPr baseline="30000">.
    const size_t align = properties.find("<" + names_.prefix + "vertAlign");
    const size_t begin = align == std::string_view::npos ? 0 : align;
    const ByteRange tag{begin, std::min(properties.find('>', begin), properties.size() - 1) + 1};
    const std::optional<ByteRange> value =
        FindAttribute(properties, tag, align == std::string_view::npos ? "baseline" : names_.prefix + "val");
    if (!value.has_value()) return false;
    const std::string_view height = properties.substr(value->begin, value->end - value->begin);
    return height == "superscript" || (!height.empty() && height[0] >= '1' && height[0] <= '9');
  }

  // Takes the content of a run from event `begin` to `end`.
  void TakeRun(size_t run, size_t begin, size_t end) {
    const Properties& properties = PropertiesOf(run);
    const bool is_whole = begin == run + 1 && end == Match(run);
    const ByteRange raised = is_whole && IsRaisedText(run, *properties) ? Whole(run) : ByteRange{};
    for (size_t i = begin; i < end; ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      const std::string& name = events_[i].name;
      if (name == names_.text) {
        TakeText(i, properties, read_language_, raised);
      } else if (name == names_.prefix + "noBreakHyphen") {
        // A hyphen to the model as well, which does not know the character U+2011 of such hyphens.
        pieces_.push_back({Piece::Kind::kText, Whole(i), "-", "", properties});
        pieces_.back().language = read_language_;
      } else if (name != names_.properties && !IsNamed(name, names_.dropped)) {
        pieces_.push_back({.kind = Piece::Kind::kObject,
                           .range = Whole(i),
                           .properties = properties,
                           .ends_run = true,
                           .breaks = Breaks(name)});
      }
      i = Match(i);
    }
  }

  // The properties that most of the text has.
  Properties BaseProperties() const {
    std::map<Properties, size_t> sizes;
    Properties base = std::make_shared<const std::string>();
    size_t most = 0;
    for (const Piece& piece : pieces_) {
      if (piece.kind != Piece::Kind::kText) continue;
      size_t& size = sizes[piece.properties];
      size += piece.text.size();
      if (size > most) {
        most = size;
        base = piece.properties;
      }
    }
    return base;
  }

  void Build(ByteRange place) {
    Writer writer{names_.run, names_.text, names_.text_tag, BaseProperties(), {}, escape_};
    Properties current = writer.base;
    ByteRange raised;               // the runs of the superscript that is open
    std::map<size_t, Role> roles;   // of pieces and superscripts, by where they begin
    std::set<size_t> ends_in_runs;  // of pieces
    std::map<size_t, Properties> formats;
    const auto change_to = [&](const Properties& properties, size_t at, ByteRange run = {}) {
      if (properties == writer.base) run = {};
      if (properties == current && (run.end == 0) == (raised.end == 0)) {
        raised.end = run.end;
        return;
      }
      if (current != writer.base && raised.end == 0) builder_.Close({at, at}, "run");
      if (current != writer.base && raised.end > 0) builder_.Close({raised.end, raised.end}, kSuperscript);
      current = properties;
      raised = run;
      if (current == writer.base) return;
      const size_t begin = raised.end == 0 ? at : raised.begin;
      builder_.Open({begin, begin}, raised.end == 0 ? "run" : kSuperscript);
      formats[begin] = properties;
      if (raised.end > 0) roles[begin] = {Role::Kind::kRaw};  // if it is one marker
    };
    for (const Piece& piece : pieces_) {
      const size_t at = piece.range.begin;
      if (piece.kind != Piece::Kind::kText) roles[at] = {Role::Kind::kRaw, piece.properties};
      if (piece.ends_run) ends_in_runs.insert(piece.range.end);
      switch (piece.kind) {
        case Piece::Kind::kText:
          if (piece.text.find_first_not_of(' ') != std::string::npos || raised.end > 0) {
            change_to(piece.properties, at, piece.raised);
          }
          builder_.AddDecoded(piece.range, piece.text);
          break;
        case Piece::Kind::kObject:
          if (raised.end > 0) change_to(writer.base, at);
          builder_.Standalone(piece.range, /*ordered=*/true, /*is_word=*/false, piece.breaks);
          break;
        case Piece::Kind::kOpen:
          change_to(writer.base, at);
          builder_.Open(piece.range, piece.name);
          break;
        case Piece::Kind::kClose:
          change_to(writer.base, at);
          builder_.Close(piece.range, piece.name);
          break;
      }
    }
    change_to(writer.base, place.end);
    PlacedUnit unit;
    if (!builder_.Finish(&unit)) return;
    unit.place = place;
    for (size_t i = 0; i < unit.markers.size(); ++i) {
      const ByteRange range = unit.markers[i];
      Role role;
      const auto of_piece = roles.find(range.begin);
      if (range.begin == range.end) {
        role.kind = Role::Kind::kFormat;
        if (unit.unit.markers[i].kind == MarkerKind::kOpen) role.properties = formats[range.begin];
      } else if (of_piece != roles.end()) {
        role = of_piece->second;
        role.ends_run = ends_in_runs.contains(range.end);
      }
      writer.roles.push_back(std::move(role));
    }
    content_.run_bytes += writer.most_written();
    unit.write = std::move(writer);
    content_.units.push_back(std::move(unit));
  }

  const std::string_view bytes_;
  const std::vector<XmlEvent>& events_;
  const ParseOptions& options_;
  const RunNames& names_;
  UnitBuilder builder_;
  const std::vector<FieldPart> fields_;
  std::string (*const escape_)(std::string_view);
  const std::string control_;                            // the name of content controls
  std::deque<std::string> decoded_;                      // parts of texts
  std::vector<size_t> runs_before_, paragraphs_before_;  // before each event
  PartContent content_;
  std::vector<Piece> pieces_;                                    // of the paragraph that is being read
  size_t paragraph_ = 0;                                         // its start
  std::unordered_map<std::string_view, Properties> properties_;  // all that were read, by their bytes
  size_t read_run_ = static_cast<size_t>(-1);                    // the run that was read last, and its properties
  Properties read_properties_;
  std::string_view read_language_;
};

}  // namespace

PartContent ReadRuns(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options,
                     const RunNames& names) {
  return RunReader(bytes, events, options, names).Read();
}

}  // namespace salient

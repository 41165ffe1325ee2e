#include "documents/runs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "documents/unit_builder.h"

namespace salient {
namespace {

using Kind = XmlEvent::Kind;

bool IsOneOf(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What a paragraph consists of, in order.
struct Piece {
  enum class Kind { kText, kInRun, kObject, kOpen, kClose };  // kInRun: an object that must be in a run; kObject: not
  Kind kind = Kind::kText;
  ByteRange range;
  std::string text;        // kText: references resolved
  std::string properties;  // kText and kInRun: of their run, as RunNames::plain_properties has them
  std::string name;        // kOpen and kClose
  bool breaks = false;     // kInRun and kObject: a line break or a tab
};

// What a marker is to the writer.
struct Role {
  enum class Kind { kFormat, kInRun, kText, kRaw };  // kText: a placeholder
  Kind kind = Kind::kRaw;
  std::string properties;
};

struct Writer {
  std::string run, text, text_tag;  // element names, and the start tag of a text
  std::string base;                 // the properties of text without a marker
  std::vector<Role> roles;          // of markers

  std::string operator()(const Unit& unit, const MarkedText& translation,
                         const std::vector<std::string>& markers) const {
    std::string out, pending;
    std::vector<const std::string*> formats = {&base};
    const auto write_run = [&](const std::string& properties, const std::string& content) {
      out.append("<" + run + ">").append(properties).append(content).append("</" + run + ">");
    };
    const auto flush = [&] {
      if (!pending.empty()) write_run(*formats.back(), text_tag + EscapeXml(pending) + "</" + text + ">");
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
      if (role.kind == Role::Kind::kInRun) {
        write_run(role.properties, markers[place.marker]);
      } else if (role.kind == Role::Kind::kRaw) {
        out.append(markers[place.marker]);
      } else if (marker.kind == MarkerKind::kOpen) {
        formats.push_back(&role.properties);
      } else if (marker.kind == MarkerKind::kClose) {
        formats.pop_back();
      }
    }
    pending.append(translation.text, done);
    flush();
    return out;
  }
};

class RunReader {
 public:
  RunReader(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options,
            const RunNames& names)
      : bytes_(bytes),
        events_(events),
        options_(options),
        names_(names),
        builder_(bytes, {{options.keep_terms, /*tags=*/false}, /*collapse_space=*/false, /*leave_out_ends=*/false}) {
    runs_before_.resize(events.size() + 1);
    paragraphs_before_.resize(events.size() + 1);
    for (size_t i = 0; i < events.size(); ++i) {
      const bool start = events[i].kind == Kind::kStart;
      runs_before_[i + 1] = runs_before_[i] + (start && events[i].name == names.run);
      paragraphs_before_[i + 1] = paragraphs_before_[i] + (start && events[i].name == names.paragraph);
    }
  }

  std::vector<PlacedUnit> Read() {
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind == Kind::kStart && events_[i].name == names_.paragraph) TakeParagraph(i);
    }
    return std::move(units_);
  }

 private:
  size_t Match(size_t i) const { return events_[i].match; }
  ByteRange Whole(size_t i) const { return {events_[i].range.begin, events_[Match(i)].range.end}; }
  std::string_view Bytes(ByteRange range) const { return bytes_.substr(range.begin, range.end - range.begin); }

  void TakeParagraph(size_t start) {
    pieces_.clear();
    field_depth_ = 0;
    ByteRange place{bytes_.size(), 0};
    bool has_runs = false;
    for (size_t i = start + 1; i < Match(start); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (!IsOneOf(events_[i].name, names_.outside)) {
        const ByteRange whole = Whole(i);
        place = {std::min(place.begin, whole.begin), std::max(place.end, whole.end)};
        if (events_[i].name == names_.text) {
          TakeBareText(i);
        } else {
          has_runs = true;
          TakeChild(i);
        }
      }
      i = Match(i);
    }
    if (has_runs) Build(place);
  }

  // A text without a run, as a cell of a spreadsheet has it.
  void TakeBareText(size_t start) {
    for (size_t i = start + 1; i < Match(start); ++i) builder_.AddDecoded(events_[i].range, events_[i].text);
    const ByteRange place{events_[start].range.end, events_[Match(start)].range.begin};
    PlacedUnit unit;
    if (!builder_.Finish(&unit)) return;
    unit.place = place;
    unit.write = WriteEscaped(EscapeXml);
    units_.push_back(std::move(unit));
  }

  void TakeChildren(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      TakeChild(i);
      i = Match(i);
    }
  }

  void TakeChild(size_t i) {
    const std::string& name = events_[i].name;
    if (IsOneOf(name, names_.dropped)) return;
    const bool holds_runs = runs_before_[Match(i)] > runs_before_[i + 1];
    const bool holds_paragraphs = paragraphs_before_[Match(i)] > paragraphs_before_[i + 1];
    if (name == names_.run) {
      TakeRun(i);
    } else if (holds_runs && !holds_paragraphs && !IsOneOf(name, names_.opaque)) {
      // Properties of a container belong to its beginning: <w:sdt><w:sdtPr>...</w:sdtPr><w:sdtContent>.
      size_t inner = i;
      for (size_t k = i + 1; k < Match(i); ++k) {
        if (events_[k].kind == Kind::kStart && events_[k].name == names_.prefix + "sdtContent") inner = k;
        if (inner != i) break;
        if (events_[k].kind == Kind::kStart) k = Match(k);
      }
      pieces_.push_back({Piece::Kind::kOpen, {events_[i].range.begin, events_[inner].range.end}, "", "", name});
      TakeChildren(inner + 1, Match(inner));
      pieces_.push_back(
          {Piece::Kind::kClose, {events_[Match(inner)].range.begin, events_[Match(i)].range.end}, "", "", name});
    } else {
      pieces_.push_back({Piece::Kind::kObject, Whole(i), "", "", "", Breaks(name)});
    }
  }

  bool Breaks(const std::string& name) const {
    const std::string& prefix = names_.prefix;
    return IsOneOf(name, {prefix + "br", prefix + "cr", prefix + "tab", prefix + "ptab"});
  }

  // What a field's run says: where it begins, where its result begins, where it ends. "" if it is none of these.
  std::string FieldPart(size_t run) const {
    std::string part;
    for (size_t i = run + 1; i < Match(run); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (events_[i].name == names_.prefix + "instrText") part = "instruction";
      if (events_[i].name == names_.prefix + "fldChar") {
        return std::string(AttributeOf(bytes_, events_[i], names_.prefix + "fldCharType"));
      }
    }
    return part;
  }

  void TakeRun(size_t run) {
    const std::string part = FieldPart(run);
    if (field_depth_ > 0 || part == "begin") {  // up to the result: one marker
      if (field_depth_ == 0) field_begin_ = Whole(run).begin;
      if (part == "begin") ++field_depth_;
      const bool result = part == "separate" && field_depth_ == 1;
      if (part == "end") --field_depth_;
      const ByteRange range{field_begin_, Whole(run).end};
      if (result) {
        field_depth_ = 0;
        pieces_.push_back({Piece::Kind::kOpen, range, "", "", "field"});
      } else if (field_depth_ == 0) {
        pieces_.push_back({Piece::Kind::kObject, range});
      }
      return;
    }
    if (part == "end") return pieces_.push_back({Piece::Kind::kClose, Whole(run), "", "", "field"});
    if (!part.empty()) return pieces_.push_back({Piece::Kind::kObject, Whole(run)});
    std::string properties;
    for (size_t i = run + 1; i < Match(run); ++i) {
      if (events_[i].kind != Kind::kStart) continue;
      if (events_[i].name == names_.properties) {
        properties = names_.plain_properties(Bytes(Whole(i)), names_.prefix, options_.target_language);
      } else if (events_[i].name == names_.text) {
        for (size_t k = i + 1; k < Match(i); ++k) {
          pieces_.push_back({Piece::Kind::kText, events_[k].range, events_[k].text, properties});
        }
      } else if (!IsOneOf(events_[i].name, names_.dropped)) {
        pieces_.push_back({Piece::Kind::kInRun, Whole(i), "", properties, "", Breaks(events_[i].name)});
      }
      i = Match(i);
    }
  }

  // The properties that most of the text has.
  std::string BaseProperties() const {
    std::map<std::string, size_t> sizes;
    std::string base;
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
    Writer writer{names_.run, names_.text, names_.text_tag, BaseProperties()};
    std::string current = writer.base;
    std::map<size_t, Role> roles;  // by where the marker's bytes begin; an opening format's are empty
    std::vector<std::string> formats;
    const auto change_to = [&](const std::string& properties, size_t at) {
      if (properties == current) return;
      if (current != writer.base) builder_.Close({at, at}, "run");
      current = properties;
      if (current == writer.base) return;
      builder_.Open({at, at}, "run");
      formats.push_back(properties);
    };
    for (const Piece& piece : pieces_) {
      const size_t at = piece.range.begin;
      switch (piece.kind) {
        case Piece::Kind::kText:
          if (piece.text.find_first_not_of(' ') != std::string::npos) change_to(piece.properties, at);
          builder_.AddDecoded(piece.range, piece.text);
          break;
        case Piece::Kind::kInRun:
          roles[at] = {Role::Kind::kInRun, piece.properties};
          builder_.Standalone(piece.range, /*ordered=*/true, /*is_word=*/false, piece.breaks);
          break;
        case Piece::Kind::kObject:
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
    size_t next_format = 0;
    for (size_t i = 0; i < unit.markers.size(); ++i) {
      const ByteRange range = unit.markers[i];
      Role role;
      const auto in_run = roles.find(range.begin);
      if (range.begin == range.end) {
        role.kind = Role::Kind::kFormat;
        if (unit.unit.markers[i].kind == MarkerKind::kOpen) role.properties = formats[next_format++];
      } else if (in_run != roles.end()) {
        role = in_run->second;
      } else if (bytes_[range.begin] != '<') {
        role.kind = Role::Kind::kText;
      }
      writer.roles.push_back(std::move(role));
    }
    unit.write = std::move(writer);
    units_.push_back(std::move(unit));
  }

  const std::string_view bytes_;
  const std::vector<XmlEvent>& events_;
  const ParseOptions& options_;
  const RunNames& names_;
  UnitBuilder builder_;
  std::vector<size_t> runs_before_, paragraphs_before_;  // before each event
  std::vector<PlacedUnit> units_;
  std::vector<Piece> pieces_;  // of the paragraph that is being read
  int field_depth_ = 0;        // fields whose result has not begun
  size_t field_begin_ = 0;
};

}  // namespace

std::vector<PlacedUnit> ReadRuns(std::string_view bytes, const std::vector<XmlEvent>& events,
                                 const ParseOptions& options, const RunNames& names) {
  return RunReader(bytes, events, options, names).Read();
}

}  // namespace salient

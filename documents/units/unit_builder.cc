#include "documents/units/unit_builder.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/syntax/character_references.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kLongestNote = 16;   // bytes of what refers to a note
constexpr size_t kMostNoteItems = 8;  // markers in it and before it
constexpr std::string_view kAfterWord = ".,;:!?)]\"'";

bool IsAsciiSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// How many letters a text ends with, before a little punctuation at its end; at most 3.
size_t LettersAtEnd(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  auto at = static_cast<int32_t>(text.size());
  for (int marks = 0; marks < 3 && at > 0 && IsOneOf(text[at - 1], kAfterWord); ++marks) --at;
  size_t letters = 0;
  while (at > 0 && letters < 3) {
    UChar32 c;
    U8_PREV(bytes, 0, at, c);
    if (c < 0 || !u_isalpha(c)) break;
    ++letters;
  }
  return letters;
}

// Whether a superscript refers to a note or is a mark such as "TM", and no word: "1", "[2]", "2,3", "1)", "a".
// `before`: the text before it. No power of a unit: "km" with "2", and no ending of a number or a word: "th".
bool IsNoteMark(std::string_view before, std::string_view mark) {
  const size_t letters = LettersAtEnd(before);
  if (letters < 2 || mark.empty() || mark.size() > kLongestNote) return false;
  if (letters == 2 && !IsOneOf(before.back(), kAfterWord) && IsOneOf(mark, {"2", "3"})) return false;
  bool names = false;
  for (size_t at = 0; at < mark.size();) {
    size_t end = at;
    while (end < mark.size() && IsLetter(mark[end])) ++end;
    const bool is_letter = end == at + 1;
    const bool is_sign = end == at + 2 && absl::ascii_isupper(mark[at]) && absl::ascii_isupper(mark[at + 1]);
    if (end == at && !IsDigit(mark[at]) && !IsOneOf(mark[at], " ,;()[]*")) return false;
    if (end > at && !is_letter && !is_sign) return false;
    names = names || end > at || IsDigit(mark[at]);
    at = std::max(end, at + 1);
  }
  return names;
}

}  // namespace

void UnitBuilder::Append(std::string_view text, ByteRange range, bool one_to_one) {
  is_cut_ = is_cut_ || text_.size() + text.size() > kMostUnitText;
  if (is_cut_) return;
  for (size_t i = 0; i < text.size(); ++i) {
    const ByteRange from = one_to_one ? ByteRange{range.begin + i, range.begin + i + 1} : range;
    char c = text[i];
    if (rules_.collapse_space && IsAsciiSpace(c)) {
      if (!text_.empty() && text_.back() == ' ' && object_at_ != text_.size()) {
        if (items_.empty() || items_.back().at < text_.size()) origin_.back().end = static_cast<uint32_t>(from.end);
        continue;
      }
      c = ' ';
    }
    text_.push_back(c);
    origin_.push_back({static_cast<uint32_t>(from.begin), static_cast<uint32_t>(from.end)});
  }
}

void UnitBuilder::AddText(ByteRange range) {
  Append(bytes_.substr(range.begin, range.end - range.begin), range, /*one_to_one=*/true);
}

void UnitBuilder::AddTextWithReferences(ByteRange range, bool in_attribute) {
  const std::string_view text = bytes_.substr(0, range.end);
  size_t done = range.begin;
  for (size_t at = text.find('&', done); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const CharacterReference reference = ReadHtmlReference(text, at, in_attribute);
    if (reference.length == 0) continue;
    AddText({done, at});
    done = at + reference.length;
    if (reference.text.empty()) {
      Standalone({at, done}, /*ordered=*/false, /*is_word=*/true);
    } else {
      AddDecoded({at, done}, reference.text);
    }
    at = done - 1;
  }
  AddText({done, range.end});
}

void UnitBuilder::AddDecoded(ByteRange range, std::string_view text) {
  const bool literal = bytes_.substr(range.begin, range.end - range.begin) == text;
  Append(text, range, /*one_to_one=*/literal);
}

std::string UnitBuilder::BeginningOf(ByteRange range) const {
  return std::string(Utf8Prefix(bytes_.substr(range.begin, range.end - range.begin), kMostBytes));
}

void UnitBuilder::Open(ByteRange range, std::string_view name) {
  items_.push_back({text_.size(), MarkerKind::kOpen, range, std::string(name), BeginningOf(range)});
}

void UnitBuilder::Close(ByteRange range, std::string_view name, bool stays) {
  const bool is_empty = !items_.empty() && items_.back().kind == MarkerKind::kOpen && items_.back().at == text_.size();
  if (is_empty) object_at_ = text_.size();  // such as an icon
  items_.push_back(
      {text_.size(), MarkerKind::kClose, range, std::string(name), BeginningOf(range), /*ordered=*/false, stays});
}

void UnitBuilder::Standalone(ByteRange range, bool ordered, bool is_word, bool breaks) {
  items_.push_back({text_.size(), MarkerKind::kStandalone, range, "", BeginningOf(range), ordered, is_word});
  items_.back().breaks = breaks;
  object_at_ = text_.size();
}

// Takes spans that are not translated out of the text and puts markers in their place.
void UnitBuilder::Splice() {
  std::vector<InlineSpan> spans = FindInlineSpans(text_, rules_.inline_rules);
  if (spans.empty()) return;
  if (rules_.inline_rules.tags) {
    spans = JoinKeptElements(text_, spans, rules_.inline_rules.source_language, [this](size_t begin, size_t end) {
      const auto marker = std::lower_bound(items_.begin(), items_.end(), begin + 1,
                                           [](const Item& item, size_t at) { return item.at < at; });
      return marker == items_.end() || marker->at >= end;
    });
  }
  std::vector<Item> items;
  std::string text;
  std::vector<Origin> origin;
  size_t done = 0, next_item = 0;
  const auto copy_to = [&](size_t end) {
    for (; next_item < items_.size() && items_[next_item].at <= end; ++next_item) {
      Item& item = items_[next_item];
      text.append(text_, done, item.at - done);
      origin.insert(origin.end(), origin_.begin() + done, origin_.begin() + item.at);
      done = item.at;
      item.at = text.size();
      items.push_back(std::move(item));
    }
    text.append(text_, done, end - done);
    origin.insert(origin.end(), origin_.begin() + done, origin_.begin() + end);
    done = end;
  };
  const auto cuts_range = [this](size_t at) {
    return at > 0 && at < origin_.size() && origin_[at].begin == origin_[at - 1].begin;
  };
  // A section of XML is a range of many characters, which can be written one by one. An escape cannot be divided.
  const auto cuts_escape = [&](size_t at) {
    return cuts_range(at) && !(rules_.copies_markers && bytes_.substr(origin_[at].begin).starts_with("<![CDATA["));
  };
  for (const InlineSpan& span : spans) {
    const auto first_at_or_after = [&](size_t place) {
      return std::lower_bound(items_.begin() + next_item, items_.end(), place,
                              [](const Item& item, size_t at) { return item.at < at; });
    };
    const bool holds_marker = first_at_or_after(span.begin + 1) < first_at_or_after(span.end);
    const bool shares_range = cuts_range(span.begin) || cuts_range(span.end);
    const bool may_hold_marker = rules_.copies_markers && span.is_message && !shares_range;
    if ((holds_marker && !may_hold_marker) || cuts_escape(span.begin) || cuts_escape(span.end)) continue;
    copy_to(span.begin);
    const ByteRange range{origin_[span.begin].begin, origin_[span.end - 1].end};
    items.push_back({text.size(), span.kind, range, span.name.empty() ? "" : absl::StrCat("<", std::string(span.name)),
                     holds_marker ? std::string(bytes_.substr(range.begin, range.end - range.begin))
                                  : text_.substr(span.begin, span.end - span.begin),
                     /*ordered=*/false,
                     /*is_word=*/!span.is_tag, shares_range});
    done = span.end;
    next_item = static_cast<size_t>(first_at_or_after(span.end) - items_.begin());
  }
  copy_to(text_.size());
  items_ = std::move(items);
  text_ = std::move(text);
  origin_ = std::move(origin);
}

// What has no partner, or crosses another pair, becomes a marker by itself that keeps its place among its like.
void UnitBuilder::Pair() {
  std::map<std::string, std::vector<size_t>> open;  // by name, positions in `stack`
  std::vector<size_t> stack;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].kind == MarkerKind::kOpen) {
      open[items_[i].name].push_back(stack.size());
      stack.push_back(i);
    } else if (items_[i].kind == MarkerKind::kClose) {
      auto& same = open[items_[i].name];
      if (same.empty()) continue;
      const size_t depth = same.back(), opener = stack[depth];
      for (; stack.size() > depth; stack.pop_back()) open[items_[stack.back()].name].pop_back();  // crossed ones, too
      items_[opener].partner = i;
      items_[i].partner = opener;
    }
  }
  for (Item& item : items_) {
    if (item.name == "<br") item.ordered = item.breaks = true;  // a tag in a string (Splice)
    if (item.kind == MarkerKind::kStandalone || item.partner != kNone) continue;
    item.kind = MarkerKind::kStandalone;
    item.ordered = true;
  }
}

// Whether a marker opens a superscript that refers to a note of the word at the end of text_[0, text_end).
bool UnitBuilder::RefersToNote(size_t item, size_t text_end) const {
  const Item& open = items_[item];
  if (open.kind != MarkerKind::kOpen || (open.name != kSuperscript && open.name != "<sup")) return false;
  if (open.partner - item > kMostNoteItems) return false;
  const size_t end = items_[open.partner].at;
  for (size_t i = item + 1; i < open.partner; ++i) {
    if (items_[i].kind == MarkerKind::kStandalone) return false;
  }
  for (size_t i = item; i-- > 0 && items_[i].at == text_end;) {  // no other word is between that one and the mark
    const bool is_word = items_[i].kind == MarkerKind::kStandalone && items_[i].is_word;
    if (is_word || item - i > kMostNoteItems) return false;
  }
  const std::string_view text = text_;
  return IsNoteMark(text.substr(0, text_end), text.substr(open.at, end - open.at));
}

std::vector<UnitBuilder::Note> UnitBuilder::FindNotes() const {
  std::vector<Note> notes;
  for (size_t item = 0; item < items_.size(); ++item) {
    size_t text_end = items_[item].at;
    if (!notes.empty()) {  // more of the same word: "1", "2"
      const size_t done = items_[notes.back().last].at;
      const std::string_view between = std::string_view(text_).substr(done, text_end - done);
      if (IsOneOf(between, {"", ",", ", "})) text_end = items_[notes.back().first].at;
    }
    if (!RefersToNote(item, text_end)) continue;
    Note note{item, items_[item].partner};
    const auto is_around = [&](const Item& outer) {
      return outer.partner == note.last + 1 && outer.at == items_[item].at &&
             items_[outer.partner].at == items_[note.last].at;
    };
    while (note.first > 0 && is_around(items_[note.first - 1])) {
      --note.first;
      ++note.last;
    }
    notes.push_back(note);
    item = note.last;
  }
  return notes;
}

// A model would take such a superscript for a part of the word before it: "Berlin1". So it becomes a single marker.
void UnitBuilder::TakeNotes() {
  const std::vector<Note> notes = FindNotes();
  if (notes.empty()) return;
  std::vector<Item> items;
  std::vector<size_t> index(items_.size());  // where each item is now
  std::string text;
  std::vector<Origin> origin;
  size_t done = 0, next = 0;
  const auto copy_to = [&](size_t item, size_t end) {
    for (; next < item; ++next) {
      index[next] = items.size();
      items.push_back(std::move(items_[next]));
      items.back().at = items.back().at - done + text.size();
    }
    text.append(text_, done, end - done);
    origin.insert(origin.end(), origin_.begin() + static_cast<std::ptrdiff_t>(done),
                  origin_.begin() + static_cast<std::ptrdiff_t>(end));
    done = end;
  };
  for (const Note& note : notes) {
    copy_to(note.first, items_[note.first].at);
    Item mark{text.size(), MarkerKind::kStandalone, {items_[note.first].range.begin, items_[note.last].range.end}};
    for (; next <= note.last; ++next) {
      const Item& item = items_[next];
      mark.bytes.append(text_, done, item.at - done).append(item.bytes);
      mark.shares_range = mark.shares_range || item.shares_range;
      done = item.at;
    }
    items.push_back(std::move(mark));
  }
  copy_to(items_.size(), text_.size());
  for (Item& item : items) {
    if (item.partner != kNone) item.partner = index[item.partner];
  }
  items_ = std::move(items);
  text_ = std::move(text);
  origin_ = std::move(origin);
}

void UnitBuilder::LeaveOutEnds() {
  size_t first = 0, last = items_.size();  // the items that stay
  begin_ = 0;
  end_ = text_.size();
  if (!rules_.leave_out_ends) return;
  const auto trim_left = [&] {
    while (begin_ < end_ && IsAsciiSpace(text_[begin_]) && (first == last || items_[first].at > begin_)) ++begin_;
  };
  const auto trim_right = [&] {
    while (end_ > begin_ && IsAsciiSpace(text_[end_ - 1]) && (first == last || items_[last - 1].at < end_)) --end_;
  };
  for (bool changed = true; changed;) {
    changed = false;
    trim_left();
    trim_right();
    if (first == last) break;
    const Item& left = items_[first];
    const Item& right = items_[last - 1];
    if (left.at == begin_ && !left.is_word) {
      if (left.kind == MarkerKind::kStandalone) {
        ++first;
        changed = true;
        continue;
      }
      if (left.partner + 1 == last && right.at == end_ && last - first > 1 && !right.is_word) {
        ++first;
        --last;
        changed = true;
        continue;
      }
      if (left.partner == first + 1 && items_[first + 1].at == begin_) {
        first += 2;
        changed = true;
        continue;
      }
    }
    if (right.at == end_ && !right.is_word) {
      if (right.kind == MarkerKind::kStandalone) {
        --last;
        changed = true;
      } else if (last - first > 1 && right.partner + 2 == last && items_[last - 2].at == end_) {
        last -= 2;
        changed = true;
      }
    }
  }
  const size_t removed = first;
  items_ = std::vector<Item>(items_.begin() + first, items_.begin() + last);
  for (Item& item : items_) {
    if (item.partner != kNone) item.partner -= removed;
  }
}

void UnitBuilder::Emit(PlacedUnit* placed) const {
  Unit& unit = placed->unit;
  unit = {};
  placed->markers.clear();
  unit.source.text = text_.substr(begin_, end_ - begin_);
  placed->place = {origin_[begin_].begin, origin_[end_ - 1].end};
  std::vector<int32_t> ids(items_.size());
  int32_t next_id = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    ids[i] = item.kind == MarkerKind::kClose ? ids[item.partner] : next_id++;
    // One that keeps its place, such as the end of a subtitle's cue, is part of the sentence, but no word.
    const bool is_word = item.kind == MarkerKind::kStandalone && item.is_word && !item.ordered;
    unit.markers.push_back({item.kind, ids[i], item.bytes, item.ordered, item.breaks, is_word});
    unit.source.places.push_back({item.at - begin_, static_cast<int32_t>(i)});
    // An empty range: the marker is written from its bytes.
    placed->markers.push_back(item.shares_range ? ByteRange{item.range.begin, item.range.begin} : item.range);
    placed->place.begin = std::min(placed->place.begin, item.range.begin);
    placed->place.end = std::max(placed->place.end, item.range.end);
  }
}

bool UnitBuilder::Finish(PlacedUnit* unit) {
  bool has_letter = HasLetter(text_);
  if (has_letter) {
    Splice();
    has_letter = HasLetter(text_);
  }
  if (has_letter) {
    Pair();
    TakeNotes();
    LeaveOutEnds();
    Emit(unit);
  }
  text_.clear();
  origin_.clear();
  items_.clear();
  object_at_ = kNone;
  unit->is_cut = std::exchange(is_cut_, false);
  return has_letter || unit->is_cut;
}

void UnitBuilder::FinishEscaped(std::string (*escape)(std::string_view), std::vector<PlacedUnit>* units) {
  PlacedUnit unit;
  if (!Finish(&unit)) return;
  unit.write = WriteEscaped(escape);
  units->push_back(std::move(unit));
}

}  // namespace salient

// Builds a unit from the parts that a parser finds, in the order of the bytes.
//
//   UnitBuilder builder(bytes, rules);
//   builder.AddText({3, 9});                 // copied text
//   builder.AddDecoded({9, 14}, "&");        // an escape
//   builder.Open({14, 17}, "b"); ... builder.Close({20, 24}, "b");
//   if (builder.Finish(&unit)) ...           // and start the next unit
//
// Finish finds placeholders and similar spans in the text (inline_spans.h), pairs opening and closing markers, makes
// single markers of superscripts that refer to a note, and excludes white space and tags at the ends, and pairs around
// the whole unit.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "documents/patch.h"
#include "documents/units/inline_spans.h"

namespace salient {

// The name of a pair around a superscript (UnitBuilder::Open).
constexpr std::string_view kSuperscript = "sup";

struct UnitRules {
  InlineRules inline_rules;
  bool collapse_space = true;  // runs of white space become one space, as in HTML
  bool leave_out_ends = true;  // exclude white space and tags at the ends; otherwise the unit has all that was added
  // The writer copies markers, as WriteEscaped does. Then elements in an argument of an ICU message belong to it, and
  // parts of a section of XML can be markers.
  bool copies_markers = false;
};

class UnitBuilder {
 public:
  // `bytes` must outlive the builder.
  UnitBuilder(std::string_view bytes, UnitRules rules) : bytes_(bytes), rules_(std::move(rules)) {}

  // The rule for what is added from now on.
  void set_collapse_space(bool collapse_space) { rules_.collapse_space = collapse_space; }
  // The rules for the unit that Finish makes next.
  void set_leave_out_ends(bool leave_out_ends) { rules_.leave_out_ends = leave_out_ends; }
  void set_tags(bool tags) { rules_.inline_rules.tags = tags; }

  void AddText(ByteRange range);  // the bytes are the text
  // The same, with HTML character references. Those that are not known become markers.
  void AddTextWithReferences(ByteRange range, bool in_attribute);
  // The bytes stand for the text: as a whole, or one by one if they equal it.
  void AddDecoded(ByteRange range, std::string_view text);
  void Open(ByteRange range, std::string_view name);
  // `stays`: the pair is not excluded if it is around the whole unit.
  void Close(ByteRange range, std::string_view name, bool stays = false);
  // `ordered`, `breaks`: see Marker. `is_word`: a part of the sentence, such as a code span; not excluded at the ends.
  void Standalone(ByteRange range, bool ordered, bool is_word, bool breaks = false);

  bool empty() const { return text_.empty() && items_.empty(); }
  size_t marker_count() const { return items_.size(); }
  const std::string& text() const { return text_; }

  // Fills in the unit, its place and its markers, and resets the builder. False if there is no letter to translate.
  bool Finish(PlacedUnit* unit);
  // The same; adds the unit to `units`, with the writer WriteEscaped(escape).
  void FinishEscaped(std::string (*escape)(std::string_view), std::vector<PlacedUnit>* units);

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  // The bytes that are kept of a marker with a range, which may hold other units. The writer copies the range.
  static constexpr size_t kMostBytes = 1024;
  struct Origin {  // a ByteRange in half of the memory: no text has 4 GiB
    uint32_t begin = 0, end = 0;
  };
  struct Item {     // a marker in the making
    size_t at = 0;  // in text_
    MarkerKind kind = MarkerKind::kStandalone;
    ByteRange range;
    std::string name;   // pairs what has the same
    std::string bytes;  // escapes undone
    bool ordered = false, is_word = false;
    bool shares_range = false;  // the range stands for other text, too
    size_t partner = kNone;     // of a pair
    bool breaks = false;
  };

  void Append(std::string_view text, ByteRange range, bool one_to_one);
  std::string BeginningOf(ByteRange range) const;
  void Splice();
  void Pair();
  struct Note {  // the items of a superscript that refers to a note, and of the pairs that are only around it
    size_t first = 0, last = 0;
  };
  bool RefersToNote(size_t item, size_t text_end) const;
  std::vector<Note> FindNotes() const;
  void TakeNotes();
  void LeaveOutEnds();
  void Emit(PlacedUnit* unit) const;

  const std::string_view bytes_;
  UnitRules rules_;
  std::string text_;
  std::vector<Origin> origin_;  // of each byte of text_
  std::vector<Item> items_;     // sorted by `at`
  size_t object_at_ = kNone;  // where in text_ the last marker by itself or empty pair is: white space around it stays
  size_t begin_ = 0, end_ = 0;  // of text_, in Finish
  bool is_cut_ = false;         // there was more than kMostUnitText
};

}  // namespace salient

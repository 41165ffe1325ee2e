// Puts a unit together from what a parser finds, in the order of the bytes.
//
//   UnitBuilder builder(bytes, rules);
//   builder.AddText({3, 9});                 // as it stands
//   builder.AddDecoded({9, 14}, "&");        // an escape
//   builder.Open({14, 17}, "b"); ... builder.Close({20, 24}, "b");
//   if (builder.Finish(&unit)) ...           // and begin anew
//
// Finish finds placeholders and the like in the text (inline_spans.h), pairs opening and closing markers, and leaves
// outside of the unit what need not be in it: white space and tags at its ends, and pairs around all of it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "documents/inline_spans.h"
#include "documents/patch.h"

namespace salient {

struct UnitRules {
  InlineRules inline_rules;
  bool collapse_space = true;  // runs of white space are one space, as in HTML
  bool leave_out_ends = true;  // white space and tags at the ends stay outside; else all that was added is in the unit
};

class UnitBuilder {
 public:
  // `bytes` must outlive the builder.
  UnitBuilder(std::string_view bytes, UnitRules rules) : bytes_(bytes), rules_(std::move(rules)) {}

  void AddText(ByteRange range);                            // the bytes are the text
  void AddTextWithReferences(ByteRange range);              // but for HTML's references to characters
  void AddDecoded(ByteRange range, std::string_view text);  // the bytes stand for the text, as a whole
  void Open(ByteRange range, std::string_view name);
  // `stays`: the pair is not left outside where it is around all of the unit.
  void Close(ByteRange range, std::string_view name, bool stays = false);
  // `ordered`: see Marker. `is_word`: a part of the sentence, such as a code span, that stays in the unit at its ends.
  void Standalone(ByteRange range, bool ordered, bool is_word);

  bool empty() const { return text_.empty() && items_.empty(); }
  size_t marker_count() const { return items_.size(); }
  const std::string& text() const { return text_; }

  // Fills in unit, place and markers, and starts anew. False if there is no letter to translate.
  bool Finish(PlacedUnit* unit);

 private:
  struct Item {     // a marker in the making
    size_t at = 0;  // in text_
    MarkerKind kind = MarkerKind::kStandalone;
    ByteRange range;
    std::string name;   // pairs what has the same
    std::string bytes;  // escapes undone
    bool ordered = false, is_word = false;
    size_t partner = static_cast<size_t>(-1);  // of a pair
  };

  void Append(std::string_view text, ByteRange range, bool one_to_one);
  bool AfterObject() const;
  void Splice();
  void Pair();
  void LeaveOutEnds();
  void Emit(PlacedUnit* unit) const;

  const std::string_view bytes_;
  const UnitRules rules_;
  std::string text_;
  std::vector<ByteRange> origin_;  // of each byte of text_
  std::vector<Item> items_;        // sorted by `at`
  size_t begin_ = 0, end_ = 0;     // of text_, in Finish
};

}  // namespace salient

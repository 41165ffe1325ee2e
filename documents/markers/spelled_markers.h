// Markers as a model reads and writes them: ⟦0⟧, ⟦1⟧ and so on, pieces of its vocabulary. The engine's search lets each
// one of a segment come once, and closes pairs in their order (engine/search/rules.h).
//
//   See <a>the page</a> of {name}.   ->   See ⟦0⟧the page⟦1⟧ of ⟦2⟧.   ->   Siehe ⟦0⟧die Seite⟦1⟧ von ⟦2⟧.
//
// What is around the whole segment stays there without being spelled.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "documents/markup.h"

namespace salient {

// A segment's text for the model, and what has to be known to read its translation.
struct SpelledSegment {
  MarkedText source;  // the segment; its places in order, `marker` indexes the unit's markers
  std::string text;
  std::vector<int32_t> before, after;  // markers that stay at its beginning and its end
  std::vector<int32_t> place_of;       // of each number that is spelled the index of its place in `source`; -1: none
  std::vector<int32_t> term_numbers;   // of each term the number before it, the next one is after it; -1: not spelled

  // About how many bytes of memory it takes beside the object.
  size_t bytes() const {
    return source.text.size() + source.places.size() * sizeof(MarkerPlace) + text.size() +
           (before.size() + after.size() + place_of.size() + term_numbers.size()) * sizeof(int32_t);
  }
};

// A segment's text and the markers in it, with at most `most` numbers. False where these do not suffice, or where the
// text itself has what spells a marker. `terms`: disjoint parts of the text, from left to right and without markers in
// them, each of which gets a pair around it as long as there are numbers.
bool SpellMarkers(const std::vector<Marker>& markers, MarkedText source, const std::vector<ByteRange>& terms,
                  int32_t most, SpelledSegment* spelled);

// A translation of `spelled.text`: its text, and where the segment's markers stand in it. Numbers that the segment has
// not are left out; whether every marker is there is for the caller to check (CheckMarkers).
MarkedText ReadSpelled(const std::vector<Marker>& markers, const SpelledSegment& spelled, std::string_view translation);

// Replaces what a translation has between marker `number` and the one after it, and those two, by what `form` makes of
// it; white space at its ends and other markers stay. False where the translation has no such pair.
bool ReplaceSpelled(int32_t number, absl::FunctionRef<std::string(std::string_view said)> form,
                    std::string* translation);

// The text without the markers that it spells, and without the white space that only they separated.
std::string WithoutSpelled(std::string_view text);

}  // namespace salient

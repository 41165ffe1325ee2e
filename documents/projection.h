// Puts a unit's markers into its translation, along an alignment of words.
//
// A pair goes around the target words that are aligned with the words it is around: the stretch where most of their
// weight lies within, which is the contiguous one with the greatest sum of (share of the weight - 1/2). A marker by
// itself goes where the word after it and the word before it went. What is within a pair stays within, ordered markers
// stay in order, every marker is there once: for any alignment, even none.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "documents/markup.h"

namespace salient {

struct Link {
  int32_t source = 0;  // index of a source word
  float weight = 0;    // above 0; such as the attention that was paid to it
};

struct Alignment {
  std::vector<ByteRange> source, target;  // words of either text: left to right, disjoint, not empty
  std::vector<std::vector<Link>> links;   // of each target word; as many as `target`
};

// The same function of its arguments everywhere: no clock, no chance. Where markers need white space that the
// translation lacks, some is added to it; nothing else of it changes. The result passes CheckMarkers.
MarkedText ProjectMarkers(const Unit& unit, std::string_view translation, const Alignment& alignment);

// Words as Unicode has them (UAX #29), and every other character that is no white space by itself.
std::vector<ByteRange> WordsOf(std::string_view text);

// An alignment where a model gives none: words that both texts have (numbers, names) are each other's, the longest
// sequence of them in order, and those between are aligned by their place between these.
Alignment AlignByPlace(std::string_view source, std::string_view translation);

// Adds a later part of the same text and of its translation, such as the next sentence; offsets are those in the parts.
void AppendAlignment(const Alignment& part, size_t source_offset, size_t target_offset, Alignment* alignment);

}  // namespace salient

// Inserts a unit's markers into its translation, along a word alignment (markup projection).
//
// A pair encloses the target words that are aligned with its source words: the contiguous range with the greatest sum
// of (share of the word's alignment weight inside the pair - 1/2). A single marker goes next to the translations of the
// words after and before it. For any alignment, even an empty one, the content of a pair stays inside it, ordered
// markers stay in order, and every marker appears once.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "documents/markup.h"

namespace salient {

struct Link {
  int32_t source = 0;  // index of a source word
  float weight = 0;    // above 0; for example the attention to this word
};

struct Alignment {
  std::vector<ByteRange> source, target;  // the words of both texts: left to right, disjoint, not empty
  std::vector<std::vector<Link>> links;   // of each target word; as many as `target`
};

// Deterministic. If markers need white space that the translation does not have, white space is added; the translation
// does not change otherwise. The result passes CheckMarkers.
MarkedText ProjectMarkers(const Unit& unit, std::string_view translation, const Alignment& alignment);

// Words by Unicode (UAX #29), and every other non-space character as a word of its own.
std::vector<ByteRange> WordsOf(std::string_view text);

// An alignment without a model: equal words of both texts (numbers, names) are aligned, as the longest common
// subsequence; the words between them are aligned by their relative position.
Alignment AlignByPlace(std::string_view source, std::string_view translation);

// Appends the alignment of a later part of the text and of its translation, such as the next sentence. The ranges in
// `part` are relative to the part.
void AppendAlignment(const Alignment& part, size_t source_offset, size_t target_offset, Alignment* alignment);

}  // namespace salient

// Inserts a unit's markers into its translation, along a word alignment (markup projection).
//
// A pair encloses the target words that are aligned with its source words: the contiguous range with the greatest sum
// of (share of the word's alignment weight inside the pair - 1/2). Half of the share counts if another target word has a
// stronger link to the same source word. A single marker goes next to the translations of the words after and before it;
// one that it touches, such as a mark of punctuation, counts twice. Markers within a word count as between words if the
// translation has the same word (divided_words.h). For any alignment, even an empty one, the content of a pair stays
// inside it, ordered markers stay in order, and every marker appears once.

#pragma once

#include <string_view>

#include "documents/markers/alignment.h"
#include "documents/markup.h"

namespace salient {

// `fills_pairs`: a pair with words in the source of which none is translated gets a word that is near its place, so
// that a link can be clicked. Deterministic. If markers need white space that the translation does not have, white
// space is added; the translation does not change otherwise. The result passes CheckMarkers.
MarkedText ProjectMarkers(const Unit& unit, std::string_view translation, const Alignment& alignment,
                          bool fills_pairs = true);

}  // namespace salient

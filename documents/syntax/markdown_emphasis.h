// Emphasis in a translation, such that Markdown reads it.
//
// Markdown reads "**" only where a word begins or ends: it is text in "word**, word**", in "word**(word)**", and where
// nothing is between two of them. A translation may have a pair in such places.

#pragma once

#include <string>
#include <vector>

#include "documents/markup.h"

namespace salient {

// The translation with its pairs of emphasis ("*", "_", "~") moved to where they are read: behind and before white
// space and punctuation at their ends. Pairs for which there is no such place, and those that are around no text, are
// left out. `bytes` are those of all markers; a "_" within a word becomes a "*".
MarkedText WithReadableEmphasis(const std::vector<Marker>& markers, MarkedText translation,
                                std::vector<std::string>* bytes);

}  // namespace salient

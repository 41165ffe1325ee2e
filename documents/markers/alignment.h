// Which words of a translation belong to which of its source: made of what a model's attention has linked, or of the
// words' places alone.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "documents/markup.h"
#include "engine/api/result.h"

namespace salient {

struct Link {
  int32_t source = 0;  // index of a source word
  float weight = 0;    // above 0; such as the attention that was paid to it
};

struct Alignment {
  std::vector<ByteRange> source, target;  // words of either text: left to right, disjoint, not empty
  std::vector<std::vector<Link>> links;   // of each target word; as many as `target`
};

// Words as Unicode has them (UAX #29), and every other character that is no white space by itself.
std::vector<ByteRange> WordsOf(std::string_view text);

// An alignment where a model gives none: words that both texts have (numbers, names) are each other's, the longest
// sequence of them in order, and those between are aligned by their place between these.
Alignment AlignByPlace(std::string_view source, std::string_view translation);

// What is not translated: each word is its own.
Alignment AlignWithItself(std::string_view text);

// An alignment of words out of one of tokens, whose links are bytes of the two texts. A word that both texts have once
// is its own translation. A word without a link, such as one that left the decoder before the layer that aligns, is
// linked by its place between its neighbours, if these are in order.
Alignment AlignByLinks(std::string_view source, std::string_view translation, const std::vector<TokenLink>& links);

// Adds a later part of the same text and of its translation, such as the next sentence; offsets are those in the parts.
void AppendAlignment(const Alignment& part, size_t source_offset, size_t target_offset, Alignment* alignment);

}  // namespace salient

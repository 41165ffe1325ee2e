// Packs a document's segments into chunks that the model can process in one pass.
//
//   source of a chunk:  segment SEP segment SEP ... segment EOS
//
// If the model's source does not end in EOS, it is left out, but after a segment that has no token: none is empty.
//
// A chunk ends before a paragraph if one begins in its second half, otherwise before a sentence. A segment longer than
// a chunk is split at word boundaries into pieces; their translations are joined with a space, but without one in
// Chinese and Japanese. If the model has no separator, each segment, or piece, is a chunk of its own.
//
// A segment of more than kPortionBytes is split before a word into portions of this size, that are tokenized singly:
// the tokenizer takes some eighty bytes of memory for every byte that it reads at once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/core/special_tokens.h"
#include "engine/text/document.h"
#include "engine/text/tokenizer.h"

namespace salient {

inline constexpr size_t kPortionBytes = 64 << 10;

struct Piece {
  int32_t segment = 0;  // index of the segment that it is, or is a part of
  int32_t tokens = 0;   // without its separator; of the first piece of a chunk, with the prefix
  // Sets of markers (SpecialTokens): bit m is marker m. The markers in it, and those of them that close a pair.
  uint32_t markers = 0, closing = 0;
};

// Adds what markers `tokens` hold. One that is there twice is a marker once.
void NoteMarkers(const std::vector<int32_t>& tokens, const SpecialTokens& special, Piece* piece);

struct Chunk {
  std::vector<int32_t> tokens;  // with separators and EOS; never empty
  std::vector<Piece> pieces;    // in order
};

// Every segment is in exactly one chunk, or in consecutive pieces. `max_tokens` includes separators, EOS and the prefix
// (the tokens at the start of every chunk); it must be at least 8 more than the prefix.
std::vector<Chunk> MakeChunks(const SegmentedDocument& document, const Tokenizer& tokenizer,
                              const SpecialTokens& special, int32_t max_tokens,
                              const std::vector<int32_t>& prefix = {});

}  // namespace salient

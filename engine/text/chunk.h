// Cuts a document's segments into chunks that the model can take in one pass.
//
//   source of a chunk:  segment SEP segment SEP ... segment EOS
//
// A chunk is cut before a paragraph where one begins in its last half, else before a sentence. A segment longer than
// the chunk is cut at word boundaries into pieces; their translations are joined with a space. Where the model knows no
// separator each segment, or piece, is a chunk of its own.
//
// A segment of more than kPortionBytes is cut before a word into portions of that size, which are cut by themselves: the
// tokenizer's memory grows by some eighty bytes with every byte that it gets at once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/special_tokens.h"
#include "engine/text/document.h"
#include "engine/text/tokenizer.h"

namespace salient {

inline constexpr size_t kPortionBytes = 64 << 10;

struct Piece {
  int32_t segment = 0;  // which segment of the document it is, or is a part of
  int32_t tokens = 0;   // without its separator, with the prefix of a chunk's first
};

struct Chunk {
  std::vector<int32_t> tokens;  // with separators and EOS
  std::vector<Piece> pieces;    // in order
};

// Every segment is in exactly one chunk, or in consecutive pieces. max_tokens counts separators, EOS and the prefix,
// the tokens that every chunk begins with; it is 8 more than the prefix at least.
std::vector<Chunk> MakeChunks(const SegmentedDocument& document, const Tokenizer& tokenizer,
                              const SpecialTokens& special, int32_t max_tokens,
                              const std::vector<int32_t>& prefix = {});

}  // namespace salient

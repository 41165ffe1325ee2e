// Cuts a document's segments into chunks that the model can take in one pass.
//
//   source of a chunk:  segment SEP segment SEP ... segment EOS
//
// A chunk is cut before a paragraph where one begins in its last half, else before a sentence. A segment longer than
// the chunk is cut at word boundaries into pieces; their translations are joined with a space.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/special_tokens.h"
#include "engine/text/document.h"
#include "engine/text/tokenizer.h"

namespace salient {

struct Piece {
  int32_t segment = 0;  // which segment of the document it is, or is a part of
  int32_t tokens = 0;   // without its separator
};

struct Chunk {
  std::vector<int32_t> tokens;  // with separators and EOS
  std::vector<Piece> pieces;    // in order
};

// Every segment is in exactly one chunk, or in consecutive pieces. max_tokens counts separators and EOS; at least 8.
std::vector<Chunk> MakeChunks(const SegmentedDocument& document, const Tokenizer& tokenizer,
                              const SpecialTokens& special, int32_t max_tokens);

}  // namespace salient

#include "engine/decode/demand.h"

#include <algorithm>

#include "engine/core/kv_store.h"
#include "engine/search/rules.h"

namespace salient {

int32_t TextLimit(const Piece& piece, const ResolvedOptions& options) {
  const int32_t tokens = piece.tokens - CountBits(piece.markers);
  return static_cast<int32_t>(options.max_length_ratio * tokens) + kSegmentSlack;
}

int32_t LengthLimit(const Piece& piece, const ResolvedOptions& options) {
  return TextLimit(piece, options) + CountBits(piece.markers);
}

int64_t MaxSteps(const Chunk& chunk, const ResolvedOptions& options) {
  int64_t steps = 0;
  for (const Piece& piece : chunk.pieces) steps += LengthLimit(piece, options) + 1;  // and one separator or end token
  return steps;
}

int32_t RowsWanted(const ResolvedOptions& options) { return options.beam + options.draft_tokens; }

int32_t SelfPages(const Chunk& chunk, const ResolvedOptions& options) {
  return KvStore::PagesFor(MaxSteps(chunk, options) * options.beam);
}

int32_t ExpectedPages(const Chunk& chunk, const ResolvedOptions& options) {
  int64_t steps = 0;
  for (const Piece& piece : chunk.pieces) {
    steps += std::min(LengthLimit(piece, options), piece.tokens + piece.tokens / 4) + 1;
  }
  return KvStore::PagesFor(steps * options.beam);
}

int32_t CrossPages(const Chunk& chunk) { return KvStore::PagesFor(static_cast<int64_t>(chunk.tokens.size())); }

}  // namespace salient

// What decoding a chunk needs at most, known before it starts, so that admission can wait for it.

#pragma once

#include <cstdint>

#include "engine/options/resolve.h"
#include "engine/text/chunk.h"

namespace salient {

// Room that a segment has for short sources, where the ratio alone would be too strict.
inline constexpr int32_t kSegmentSlack = 16;

// Target tokens after which a segment is closed, without the token that closes it: its markers, and what the ratio
// allows for the rest.
int32_t LengthLimit(const Piece& piece, const ResolvedOptions& options);
// The same without its markers.
int32_t TextLimit(const Piece& piece, const ResolvedOptions& options);
// Target tokens of a chunk, closing tokens included.
int64_t MaxSteps(const Chunk& chunk, const ResolvedOptions& options);
// Decoder rows: one a hypothesis; with VERIFY one for a token and one for each draft after it.
int32_t RowsWanted(const ResolvedOptions& options);
// Pages of the self store: at most, and for a translation of usual length (a quarter more tokens than the source has).
int32_t SelfPages(const Chunk& chunk, const ResolvedOptions& options);
int32_t ExpectedPages(const Chunk& chunk, const ResolvedOptions& options);
// Pages of the cross store.
int32_t CrossPages(const Chunk& chunk);

}  // namespace salient

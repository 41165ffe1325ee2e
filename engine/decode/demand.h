// The most resources that decoding a chunk needs, known before it starts, so that admission can wait for them.

#pragma once

#include <cstdint>

#include "engine/options/resolve.h"
#include "engine/text/chunk.h"

namespace salient {

// Target tokens added to the length limit of a segment, because the ratio alone would be too strict for short sources.
inline constexpr int32_t kSegmentSlack = 16;

// The most target tokens of a segment, its markers included, without the token that closes it.
int32_t LengthLimit(const Piece& piece, const ResolvedOptions& options);
// The same without its markers.
int32_t TextLimit(const Piece& piece, const ResolvedOptions& options);
// The most target tokens of a chunk, closing tokens included.
int64_t MaxSteps(const Chunk& chunk, const ResolvedOptions& options);
// Decoder rows: one for each hypothesis; with VERIFY one for a token and one for each draft after it.
int32_t RowsWanted(const ResolvedOptions& options);
// Pages of the self store: at most, and for a translation of usual length (a quarter more tokens than the source has).
int32_t SelfPages(const Chunk& chunk, const ResolvedOptions& options);
int32_t ExpectedPages(const Chunk& chunk, const ResolvedOptions& options);
// Pages of the cross store.
int32_t CrossPages(const Chunk& chunk);

}  // namespace salient

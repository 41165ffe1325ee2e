// Which rows of an attention call are computed together: a call's documents, found on the device.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/cuda/language.h"

namespace salient::cuda {

inline constexpr int kTileRows = 64;
inline constexpr int kLeastRowsOfADocument = 32;  // fewer are a beam, or not worth it

// Up to kTileRows consecutive rows of one document.
struct Tile {
  int32_t first, count;
};

// What one document's rows read, while the plan is made; kept at its first row.
struct DocumentSum {
  unsigned long long visible, read;
  int32_t rows;
  int32_t first;  // by row: the first row of its document
};

// In memory: this, then DocumentSum sums[rows], Tile tiles[MostTiles(rows)], uint8_t in_tile[rows].
struct TilePlan {
  int32_t tiles;
  int32_t rows;  // that there is room for
  int32_t reserved[2];

  // ceil(n / 64) tiles for documents of n >= 32 rows.
  static __host__ __device__ int32_t MostTiles(int32_t rows) { return rows / kLeastRowsOfADocument + 1; }
  static __host__ __device__ size_t Bytes(int32_t rows) {
    return sizeof(TilePlan) + rows * (sizeof(DocumentSum) + 1) + MostTiles(rows) * sizeof(Tile);
  }
  __device__ DocumentSum* sums() { return reinterpret_cast<DocumentSum*>(this + 1); }
  __device__ Tile* list() { return reinterpret_cast<Tile*>(sums() + rows); }
  __device__ uint8_t* in_tile() { return reinterpret_cast<uint8_t*>(list() + MostTiles(rows)); }
};

// Without a plan every row is by itself.
__device__ inline bool IsInTile(TilePlan* plan, int32_t i) { return plan != nullptr && plan->in_tile()[i] != 0; }

}  // namespace salient::cuda

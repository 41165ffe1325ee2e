// Which rows of an attention call are computed together: a call's documents, found on the device.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/cuda/language.h"

namespace salient::cuda {

inline constexpr int kTileRows = 128;
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

// In memory: this, then DocumentSum sums[rows], Tile tiles[MostTiles(rows)], int32_t rest[rows].
struct TilePlan {
  int32_t tiles;
  int32_t rows;        // that there is room for
  int32_t rest_count;  // rows of the call that no tile has
  int32_t reserved;

  // ceil(n / 128) tiles for documents of n >= 32 rows.
  static __host__ __device__ int32_t MostTiles(int32_t rows) { return rows / kLeastRowsOfADocument + 1; }
  static __host__ __device__ size_t Bytes(int32_t rows) {
    return sizeof(TilePlan) + rows * (sizeof(DocumentSum) + sizeof(int32_t)) + MostTiles(rows) * sizeof(Tile);
  }
  __device__ DocumentSum* sums() { return reinterpret_cast<DocumentSum*>(this + 1); }
  __device__ Tile* list() { return reinterpret_cast<Tile*>(sums() + rows); }
  __device__ int32_t* rest() { return reinterpret_cast<int32_t*>(list() + MostTiles(rows)); }
};

// The rows of a call that are computed one by one: those that no tile has, or all rows where there is no plan. In no
// particular order.
struct SingleRows {
  TilePlan* plan;  // may be null

  __device__ int32_t Count(const Rows& rows) const { return plan == nullptr ? RowCount(rows) : plan->rest_count; }
  __device__ int32_t At(int32_t k) const { return plan == nullptr ? k : plan->rest()[k]; }
};

}  // namespace salient::cuda

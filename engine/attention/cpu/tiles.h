// Attention of many queries of one document: 16 queries by 64 keys at a time, for encoders.
//
// A page's keys and values of one head are packed once into the layout that the multiplication needs, for all queries
// of the document. A bit mask for each page says which keys a query reads, so dense and sparse queries share tiles; a
// page that none of a tile's 16 queries reads is skipped. A group of four query tiles uses a page while it is in the
// first-level cache.
//
// Encoders keep no int8 keys, so tiles read none.
//
// A query's result does not depend on the other queries of its tile: it is its own row of every product, pages are
// taken in ascending order, and a page that it does not read leaves its sums unchanged to the bit.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/cpu_features.h"
#include "engine/core/kv_store.h"

namespace salient {

inline constexpr int kTileQueries = 16;
inline constexpr int kGroupTiles = 4;
inline constexpr int kGroupQueries = kGroupTiles * kTileQueries;

// One head of a group of queries.
struct TileTask {
  const float* queries = nullptr;  // of the first query, at the head; the others follow at `stride`
  float* output = nullptr;         // likewise
  size_t stride = 0;
  int32_t count = 0;                  // queries, at most kGroupQueries
  int32_t pages = 0;                  // that any of them reads
  const int32_t* places = nullptr;    // [pages] which of the document's pages, ascending
  const uint64_t* masks = nullptr;    // [pages][kGroupQueries] keys read, bit i for position i; zero beyond `count`
  const std::byte* packed = nullptr;  // the document's pages of this head, packed_bytes(head_width) each, aligned to 64
  int32_t head_width = 0;
};

// A page's keys and values of a head, as the store has them.
struct PackTask {
  const std::byte* keys = nullptr;  // K of the page's first position, at the head
  size_t row_bytes = 0;             // from one position to the next
  size_t value_offset = 0;          // from K to V
  int32_t count = 0;                // positions in use, at most 64; the others are not read
  int32_t head_width = 0;
  std::byte* packed = nullptr;
};

struct TileKernels {
  bool (*takes)(int32_t head_width, ElementType type) = nullptr;
  size_t (*packed_bytes)(int32_t head_width) = nullptr;
  void (*pack_f32)(const PackTask& task) = nullptr;
  void (*pack_bf16)(const PackTask& task) = nullptr;
  void (*attend)(const TileTask& task) = nullptr;
  // The crossover: if at least this share of the keys in a tile's pages is read, computing with all of them costs less
  // than fetching those that are read. A constant, measured once (benchmarks/ops, "crossover"): the two ways differ in
  // the last bits, so replicas that measured it for themselves could give different translations.
  double least_density = 1;
};

// The kernels for a head width and type on an instruction set.
const TileKernels& TileKernelsFor(CpuIsa isa, int32_t head_width, ElementType type);

extern const TileKernels kTilesPortable, kTilesAvx2, kTilesAvx512, kTilesAmx;

}  // namespace salient

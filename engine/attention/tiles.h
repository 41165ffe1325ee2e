// Attention of many queries of one document: 16 queries by 64 keys at a time, for encoders.
//
// A page's keys and values of one head are brought into the form that the multiplication wants once, and then serve all
// queries of the document. Which keys a query reads is a bit mask a page, so that dense and sparse queries share tiles;
// a page that none of a tile's queries reads is skipped. Tiles give each query the arithmetic of a tile of its own: its
// numbers are its own row of every product, pages come in ascending order, and a page that it does not read leaves its
// sums as they are, to the bit.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/attention/kv_store.h"
#include "engine/base/cpu_features.h"

namespace salient {

inline constexpr int kTileQueries = 16;

struct TileTask {
  const float* queries = nullptr;  // of the first query, at the head; the others follow at `stride`
  float* output = nullptr;         // likewise
  size_t stride = 0;
  int32_t count = 0;                  // queries, at most kTileQueries
  int32_t pages = 0;                  // of the document
  const uint64_t* masks = nullptr;    // [count][pages] keys read, bit i for position i of the page
  const std::byte* packed = nullptr;  // [pages] of this head, packed_bytes(head_width) each, aligned to 64
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
  // Returns how many pages it worked on.
  int32_t (*attend)(const TileTask& task) = nullptr;
  // From this share of keys read on, working on all of them costs less than fetching the ones that are read.
  double least_density = 1;
};

// The kernels for a head width and type on an instruction set.
const TileKernels& TileKernelsFor(CpuIsa isa, int32_t head_width, ElementType type);

extern const TileKernels kTilesPortable, kTilesAvx2, kTilesAvx512, kTilesAmx;

}  // namespace salient

// Selection scores of 16 queries at a time with AMX. The store's blocks of 16 keys are used as tiles' second operands
// as they are in memory, 64 components each.

#include <immintrin.h>

#include "engine/attention/cpu/kernels.h"
#include "engine/base/amx_tiles.h"

namespace salient {
namespace {

constexpr int kChunk = 64;  // components of a tile
constexpr int kPageBlocks = kPagePositions / kSelectionBlock;

// Tile 0: scores. Tiles 1 and 2: queries and keys. Tiles 3 and 4: the same for the last chunk, which may have fewer
// components.
TileConfig ConfigOf(int last_chunk) {
  TileConfig config;
  config.row_bytes[3] = static_cast<uint16_t>(last_chunk);
  config.rows[4] = static_cast<uint8_t>(last_chunk / 4);
  return config;
}

void ScoreBlock(const ScoreTask& task, const int8_t* keys, int32_t* scores) {
  _tile_zero(0);
  int chunk = 0;
  for (; chunk + kChunk < task.width; chunk += kChunk) {
    _tile_loadd(1, task.queries + chunk, task.query_bytes);
    _tile_loadd(2, keys + chunk * kSelectionBlock, 64);
    _tile_dpbssd(0, 1, 2);
  }
  if (chunk > 0) _tile_loadd(3, task.queries + chunk, task.query_bytes);  // else it is still loaded
  _tile_loadd(4, keys + chunk * kSelectionBlock, 64);
  _tile_dpbssd(0, 3, 4);
  _tile_stored(0, scores, task.stride * sizeof(int32_t));
}

}  // namespace

void ScoreManyAmx(const ScoreTask& task) {
  const TileConfig config = ConfigOf((task.width - 1) % kChunk + 1);
  asm volatile("" ::: "memory");  // GCC's tile intrinsics do not tell the compiler that they read memory
  _tile_loadconfig(&config);
  _tile_loadd(3, task.queries, task.query_bytes);
  const size_t block_bytes = static_cast<size_t>(kSelectionBlock) * task.width;
  for (int32_t block = 0; block < task.blocks; ++block) {
    // The scores of all keys do not fit the first-level cache. Without a prefetch, stores would wait for the second
    // level.
    constexpr int kAhead = 2 * kSelectionBlock;
    int32_t* scores = task.scores + block * kSelectionBlock;
    for (int q = 0; q < kQueriesAtOnce; ++q) __builtin_prefetch(scores + q * task.stride + kAhead, 1);
    const int8_t* keys = task.pages[block / kPageBlocks] + block % kPageBlocks * block_bytes;
    ScoreBlock(task, keys, scores);
  }
  _tile_release();
  asm volatile("" ::: "memory");
}

}  // namespace salient

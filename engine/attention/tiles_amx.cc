// Tiles in bf16 with AMX: S = Q K^T and O = P V on 16 x 16 tiles, softmax between them in AVX-512.
//
// Packed page, for a head of `width`, a multiple of 16:
//   K  [width / 32, rounded up][4][16][16][2]   32 components, 16 keys, pairs of components: K^T as the tiles' second
//                                               operand; missing components are zero
//   V  [width / 16][2][16][16][2]               16 components, 32 keys in pairs
// Queries carry the factor log2(e) / sqrt(width) when they are rounded to bf16; weights are rounded to bf16 as well.
// A tile's row depends on the same row of the first operand alone, which keeps queries apart.

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/attention/tiles.h"
#include "engine/base/amx_tiles.h"

namespace salient {
namespace {

constexpr int kMostWidth = 256;
constexpr int kChunk = 32;  // components of a first operand's row
constexpr int kTileBytes = 1024;
constexpr int kKeyTiles = kPagePositions / 16;

int Chunks(int width) { return (width + kChunk - 1) / kChunk; }

bool Takes(int32_t head_width, ElementType type) {
  return type == ElementType::kBF16 && head_width % 16 == 0 && head_width <= kMostWidth;
}

size_t PackedBytes(int32_t head_width) {
  return static_cast<size_t>(kTileBytes) * (Chunks(head_width) * kKeyTiles + head_width / 16 * 2);
}

struct Scratch {
  alignas(64) uint16_t queries[kMostWidth / kChunk][kTileQueries][kChunk];
  alignas(64) float scores[kTileQueries][kPagePositions];
  alignas(64) uint16_t weights[2][kTileQueries][kChunk];  // 32 keys each
  alignas(64) float output[kMostWidth / 16][kTileQueries][16];
  alignas(64) float sums[kTileQueries][16];
  float largest[kTileQueries];
};

constexpr TileConfig kConfig;

// GCC's tile intrinsics do not tell the compiler that they read memory.
inline void FinishStores() { asm volatile("" ::: "memory"); }

inline __m256i ToBF16(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
}

// ---- packing

void PackKeys(const PackTask& task) {
  const __m512i row_bytes = _mm512_set1_epi32(static_cast<int32_t>(task.row_bytes));
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i offsets = _mm512_mullo_epi32(lane, row_bytes);
  std::byte* out = task.packed;
  for (int chunk = 0; chunk < Chunks(task.head_width); ++chunk) {
    for (int tile = 0; tile < kKeyTiles; ++tile) {
      const int in_use = std::clamp(task.count - tile * 16, 0, 16);
      const __mmask16 keys = static_cast<__mmask16>((1u << in_use) - 1);
      for (int pair = 0; pair < 16; ++pair, out += 64) {
        const int component = chunk * kChunk + pair * 2;
        const std::byte* from = task.keys + tile * 16 * task.row_bytes + component * 2;
        const __mmask16 lanes = component < task.head_width ? keys : static_cast<__mmask16>(0);
        _mm512_store_si512(out, _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, offsets, from, 1));
      }
    }
  }
}

inline __m512i WidenValues(const PackTask& task, int key, int component) {
  if (key >= task.count) return _mm512_setzero_si512();
  const std::byte* from = task.keys + key * task.row_bytes + task.value_offset + component * 2;
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

void PackValues(const PackTask& task) {
  std::byte* out = task.packed + Chunks(task.head_width) * kKeyTiles * kTileBytes;
  for (int component = 0; component < task.head_width; component += 16) {
    for (int key = 0; key < kPagePositions; key += 2, out += 64) {
      const __m512i upper = _mm512_slli_epi32(WidenValues(task, key + 1, component), 16);
      _mm512_store_si512(out, _mm512_or_si512(WidenValues(task, key, component), upper));
    }
  }
}

void Pack(const PackTask& task) {
  PackKeys(task);
  PackValues(task);
}

// ---- a tile of queries over one page

void PackQueries(const TileTask& task, Scratch& scratch) {
  const __m512 scale = _mm512_set1_ps(1.44269504f / std::sqrt(static_cast<float>(task.head_width)));
  const int halves = Chunks(task.head_width) * 2;
  for (int q = 0; q < kTileQueries; ++q) {
    const float* query = task.queries + static_cast<size_t>(q) * task.stride;
    for (int half = 0; half < halves; ++half) {
      const bool present = q < task.count && half * 16 < task.head_width;
      const __m512 x = present ? _mm512_mul_ps(_mm512_loadu_ps(query + half * 16), scale) : _mm512_setzero_ps();
      _mm256_store_si256(reinterpret_cast<__m256i*>(scratch.queries[half / 2][q] + half % 2 * 16), ToBF16(x));
    }
  }
}

void ScorePage(const std::byte* keys, int chunks, Scratch& scratch) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int chunk = 0; chunk < chunks; ++chunk, keys += kKeyTiles * kTileBytes) {
    _tile_loadd(4, scratch.queries[chunk], 64);
    _tile_loadd(5, keys, 64);
    _tile_dpbf16ps(0, 4, 5);
    _tile_loadd(6, keys + kTileBytes, 64);
    _tile_dpbf16ps(1, 4, 6);
    _tile_loadd(7, keys + 2 * kTileBytes, 64);
    _tile_dpbf16ps(2, 4, 7);
    _tile_loadd(5, keys + 3 * kTileBytes, 64);
    _tile_dpbf16ps(3, 4, 5);
  }
  constexpr int kRow = kPagePositions * sizeof(float);
  _tile_stored(0, scratch.scores[0], kRow);
  _tile_stored(1, scratch.scores[0] + 16, kRow);
  _tile_stored(2, scratch.scores[0] + 32, kRow);
  _tile_stored(3, scratch.scores[0] + 48, kRow);
  FinishStores();
}

// 2^x for x <= 0 within 3e-6, far below what bf16 keeps of it.
inline __m512 Exp2(__m512 x) {
  const __m512 r = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);  // [0, 1)
  __m512 y = _mm512_fmadd_ps(r, _mm512_set1_ps(0.0134267f), _mm512_set1_ps(0.05224245f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.24128021f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.69304484f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(y, x);  // takes the whole part of x itself
}

void ScaleOutput(Scratch& scratch, int q, int width, float correction) {
  const __m512 factor = _mm512_set1_ps(correction);
  for (int part = 0; part < width / 16; ++part) {
    float* output = scratch.output[part][q];
    _mm512_store_ps(output, _mm512_mul_ps(_mm512_load_ps(output), factor));
  }
  _mm512_store_ps(scratch.sums[q], _mm512_mul_ps(_mm512_load_ps(scratch.sums[q]), factor));
}

void SoftmaxPage(uint64_t mask, int q, int width, Scratch& scratch) {
  if (mask == 0) {
    for (int half = 0; half < 2; ++half) _mm512_store_si512(scratch.weights[half][q], _mm512_setzero_si512());
    return;
  }
  __mmask16 masks[4];
  __m512 scores[4];
  __m512 block = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  for (int i = 0; i < 4; ++i) {
    masks[i] = static_cast<__mmask16>(mask >> 16 * i);
    scores[i] = _mm512_load_ps(scratch.scores[q] + 16 * i);
    block = _mm512_mask_max_ps(block, masks[i], block, scores[i]);
  }
  const float before = scratch.largest[q];
  const float largest = std::max(before, _mm512_reduce_max_ps(block));
  if (largest > before) {
    // Before the first key there is nothing to scale, and no finite power of two to scale it by.
    if (before > -std::numeric_limits<float>::infinity()) {
      ScaleOutput(scratch, q, width, _mm512_cvtss_f32(Exp2(_mm512_set1_ps(before - largest))));
    }
    scratch.largest[q] = largest;
  }
  __m512 total = _mm512_load_ps(scratch.sums[q]);
  for (int i = 0; i < 4; ++i) {
    const __m512 weight = _mm512_maskz_mov_ps(masks[i], Exp2(_mm512_sub_ps(scores[i], _mm512_set1_ps(largest))));
    total = _mm512_add_ps(total, weight);
    _mm256_store_si256(reinterpret_cast<__m256i*>(scratch.weights[i / 2][q] + i % 2 * 16), ToBF16(weight));
  }
  _mm512_store_ps(scratch.sums[q], total);
}

// Four parts of 16 components take turns, so that one's products need not wait for its own last ones. Tiles are named
// by literals: the intrinsics are macros that put the number into the instruction.
void AddValues(const std::byte* values, int width, Scratch& scratch) {
  FinishStores();
  _tile_loadd(4, scratch.weights[0], 64);
  _tile_loadd(5, scratch.weights[1], 64);
  const int parts = width / 16;
  int part = 0;
  for (; part + 4 <= parts; part += 4, values += 8 * kTileBytes) {
    _tile_loadd(0, scratch.output[part][0], 64);
    _tile_loadd(6, values, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, values + kTileBytes, 64);
    _tile_dpbf16ps(0, 5, 7);
    _tile_loadd(1, scratch.output[part + 1][0], 64);
    _tile_loadd(6, values + 2 * kTileBytes, 64);
    _tile_dpbf16ps(1, 4, 6);
    _tile_loadd(7, values + 3 * kTileBytes, 64);
    _tile_dpbf16ps(1, 5, 7);
    _tile_loadd(2, scratch.output[part + 2][0], 64);
    _tile_loadd(6, values + 4 * kTileBytes, 64);
    _tile_dpbf16ps(2, 4, 6);
    _tile_loadd(7, values + 5 * kTileBytes, 64);
    _tile_dpbf16ps(2, 5, 7);
    _tile_loadd(3, scratch.output[part + 3][0], 64);
    _tile_loadd(6, values + 6 * kTileBytes, 64);
    _tile_dpbf16ps(3, 4, 6);
    _tile_loadd(7, values + 7 * kTileBytes, 64);
    _tile_dpbf16ps(3, 5, 7);
    _tile_stored(0, scratch.output[part][0], 64);
    _tile_stored(1, scratch.output[part + 1][0], 64);
    _tile_stored(2, scratch.output[part + 2][0], 64);
    _tile_stored(3, scratch.output[part + 3][0], 64);
  }
  for (; part < parts; ++part, values += 2 * kTileBytes) {
    _tile_loadd(0, scratch.output[part][0], 64);
    _tile_loadd(6, values, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, values + kTileBytes, 64);
    _tile_dpbf16ps(0, 5, 7);
    _tile_stored(0, scratch.output[part][0], 64);
  }
  FinishStores();
}

void WriteOutput(const TileTask& task, const Scratch& scratch) {
  for (int q = 0; q < task.count; ++q) {
    const float sum = _mm512_reduce_add_ps(_mm512_load_ps(scratch.sums[q]));
    const __m512 inverse = _mm512_set1_ps(sum == 0 ? 0.0f : 1.0f / sum);
    float* output = task.output + static_cast<size_t>(q) * task.stride;
    for (int part = 0; part < task.head_width / 16; ++part) {
      _mm512_storeu_ps(output + part * 16, _mm512_mul_ps(_mm512_load_ps(scratch.output[part][q]), inverse));
    }
  }
}

int32_t AttendTile(const TileTask& task) {
  const int width = task.head_width, chunks = Chunks(width);
  const size_t page_bytes = PackedBytes(width);
  _tile_loadconfig(&kConfig);
  Scratch scratch;
  PackQueries(task, scratch);
  std::memset(scratch.output, 0, static_cast<size_t>(width / 16) * kTileBytes);
  std::memset(scratch.sums, 0, sizeof(scratch.sums));
  std::memset(scratch.weights, 0, sizeof(scratch.weights));  // of queries that are not there
  std::fill_n(scratch.largest, kTileQueries, -std::numeric_limits<float>::infinity());
  FinishStores();
  int32_t worked = 0;
  for (int32_t page = 0; page < task.pages; ++page) {
    uint64_t any = 0;
    for (int q = 0; q < task.count; ++q) any |= task.masks[static_cast<size_t>(q) * task.pages + page];
    if (any == 0) continue;
    ++worked;
    const std::byte* packed = task.packed + page * page_bytes;
    ScorePage(packed, chunks, scratch);
    for (int q = 0; q < task.count; ++q) {
      SoftmaxPage(task.masks[static_cast<size_t>(q) * task.pages + page], q, width, scratch);
    }
    AddValues(packed + chunks * kKeyTiles * kTileBytes, width, scratch);
  }
  WriteOutput(task, scratch);
  _tile_release();
  return worked;
}

}  // namespace

const TileKernels kTilesAmx = {.takes = Takes,
                               .packed_bytes = PackedBytes,
                               .pack_f32 = nullptr,
                               .pack_bf16 = Pack,
                               .attend = AttendTile,
                               .least_density = 0.07};

}  // namespace salient

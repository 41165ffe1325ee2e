// Tiles in bf16 with AMX: S = Q K^T and O = P V on 16 x 16 tiles, softmax between them in AVX-512.
//
// Layout of a packed page, for a head of `width` components (a multiple of 16):
//   K  [width / 32, rounded up][4][16][16][2]   32 components, 16 keys, pairs of components: K^T as the tiles' second
//                                               operand; missing components are zero
//   V  [width / 16][2][16][16][2]               16 components, 32 keys in pairs
// Queries contain the factor log2(e) / sqrt(width) before they are rounded to bf16. Weights are rounded to bf16 as
// well, and the sum of weights is that of the rounded ones: it is computed as one more column of P V.
//
// No running maximum. Softmax does not change if a constant is subtracted from all of a query's scores, as long as the
// powers of two of the differences neither overflow nor all vanish. Here the constant is the query's largest score in
// the first page that it reads. Its sum of weights is then at least about 1, and exceeds 2^60 only if a later score is
// greater by about 50. So the sums show whether a query's constant was too small; if it was, the largest scores of such
// queries are found and the group is computed again. A query's partial result is therefore never rescaled, and which of
// the two ways was taken depends on its own scores alone.
//
// Powers of two are computed with integers: weights keep 8 bits, and so does a table of 128 mantissas. That takes half
// as many vector instructions as a polynomial. Vector and tile instructions alternate, unit by unit, and do not
// overlap: where they overlap, tiles occupy one of the two ports that 64-byte vectors need, and the whole was slower.

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/attention/cpu/tiles.h"
#include "engine/base/amx_tiles.h"

namespace salient {
namespace {

constexpr int kMostWidth = 256;
constexpr int kChunk = 32;  // components in a row of a first operand
constexpr int kPart = 16;   // components in a row of a second operand of values
constexpr int kTileBytes = 1024;
constexpr int kKeyTiles = kPagePositions / 16;
constexpr float kUnknown = -std::numeric_limits<float>::infinity();
constexpr float kMostSum = 1.15e18f;  // 2^60

int Chunks(int width) { return (width + kChunk - 1) / kChunk; }

bool Takes(int32_t head_width, ElementType type) {
  return type == ElementType::kBF16 && head_width % kPart == 0 && head_width <= kMostWidth;
}

size_t PackedBytes(int32_t head_width) {
  return static_cast<size_t>(kTileBytes) * (Chunks(head_width) * kKeyTiles + head_width / kPart * 2);
}

struct Scratch {
  alignas(64) uint16_t queries[kGroupTiles][kMostWidth / kChunk][kTileQueries][kChunk];
  alignas(64) float output[kGroupTiles][kMostWidth / kPart + 1][kTileQueries][kPart];  // last: sums of weights
  alignas(64) float scores[2][kTileQueries][kPagePositions];                           // for the tiles of a unit
  alignas(64) uint16_t weights[2][2][kTileQueries][kChunk];                            // the same; 32 keys each
  alignas(64) uint16_t ones[kTileQueries][kChunk];  // used as values: 1 in the first column
  float shift[kGroupQueries];                       // subtracted from the scores
};

constexpr TileConfig kConfig;

// GCC's tile intrinsics do not tell the compiler that they read and write memory.
inline void FinishStores() { asm volatile("" ::: "memory"); }

inline __m512i ToBF16(__m512 low, __m512 high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }

// A page's keys are distributed over its four tiles in the order in which packing 32 bits to 16 leaves the scores: four
// keys of the first tile, four of the second, and so on.
constexpr int KeyAt(int tile, int column) { return tile / 2 * 32 + column / 4 * 8 + tile % 2 * 4 + column % 4; }
constexpr uint64_t KeysOf(int tile) { return uint64_t{0x0f0f0f0f} << (tile / 2 * 32 + tile % 2 * 4); }

// ---- packing

// Transposes 16 x 16 elements of 32 bits.
inline void Transpose(__m512i (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {  // r[i + j]: lane L has column 4 L + j of rows i to i + 3
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512i a = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88), b = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88),
                  d = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
    t[j] = _mm512_shuffle_i32x4(a, c, 0x88);
    t[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88);
    t[8 + j] = _mm512_shuffle_i32x4(a, c, 0xdd);
    t[12 + j] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

// 32 components of a key, or as many as the head has, from `component` on. Zero if there is no such key.
inline __m512i LoadRow(const PackTask& task, const std::byte* rows, int key, int component) {
  if (key >= task.count) return _mm512_setzero_si512();
  const int left = task.head_width - component;
  const __mmask32 lanes = left >= kChunk ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
  return _mm512_maskz_loadu_epi16(lanes, rows + key * task.row_bytes + component * 2);
}

void PackKeys(const PackTask& task) {
  std::byte* out = task.packed;
  for (int component = 0; component < task.head_width; component += kChunk) {
    for (int tile = 0; tile < kKeyTiles; ++tile, out += kTileBytes) {
      __m512i rows[16];
      for (int i = 0; i < 16; ++i) rows[i] = LoadRow(task, task.keys, KeyAt(tile, i), component);
      Transpose(rows);
      for (int i = 0; i < 16; ++i) _mm512_store_si512(out + i * 64, rows[i]);
    }
  }
}

void PackValues(const PackTask& task) {
  std::byte* out = task.packed + Chunks(task.head_width) * kKeyTiles * kTileBytes;
  const std::byte* values = task.keys + task.value_offset;
  // Reorders, so that unpacking within quarters gives the lower and the upper 16 components in order.
  const __m512i halves = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  for (int component = 0; component < task.head_width; component += kChunk, out += 4 * kTileBytes) {
    const bool both = component + kPart < task.head_width;
    for (int key = 0; key < kPagePositions; key += 2) {
      const __m512i even = _mm512_permutexvar_epi64(halves, LoadRow(task, values, key, component));
      const __m512i odd = _mm512_permutexvar_epi64(halves, LoadRow(task, values, key + 1, component));
      _mm512_store_si512(out + key * 32, _mm512_unpacklo_epi16(even, odd));
      if (both) _mm512_store_si512(out + 2 * kTileBytes + key * 32, _mm512_unpackhi_epi16(even, odd));
    }
  }
}

void Pack(const PackTask& task) {
  PackKeys(task);
  PackValues(task);
}

// ---- tiles of queries over pages

void PackQueries(const TileTask& task, Scratch& scratch) {
  const __m512 scale = _mm512_set1_ps(128 * 1.44269504f / std::sqrt(static_cast<float>(task.head_width)));
  const int rows = (task.count + kTileQueries - 1) / kTileQueries * kTileQueries;
  for (int q = 0; q < rows; ++q) {
    const float* query = task.queries + static_cast<size_t>(q) * task.stride;
    const auto part = [&](int first) {
      const bool present = q < task.count && first < task.head_width;
      return present ? _mm512_mul_ps(_mm512_loadu_ps(query + first), scale) : _mm512_setzero_ps();
    };
    for (int chunk = 0; chunk < Chunks(task.head_width); ++chunk) {
      _mm512_store_si512(scratch.queries[q / kTileQueries][chunk][q % kTileQueries],
                         ToBF16(part(chunk * kChunk), part(chunk * kChunk + 16)));
    }
  }
}

// A page, and one or two tiles of queries that read some of it. Two tiles share the page's loads.
struct Unit {
  const std::byte* page = nullptr;
  int tiles = 0;
  int tile[2] = {};
  const uint64_t* masks[2] = {};  // of each tile's queries
  bool whole[2] = {};             // whether every query of the tile reads the whole page

  explicit operator bool() const { return tiles > 0; }
};

// The units of a group, page by page.
class Units {
 public:
  explicit Units(const TileTask& task)
      : task_(task),
        page_bytes_(PackedBytes(task.head_width)),
        tiles_((task.count + kTileQueries - 1) / kTileQueries) {}

  // The next unit; one without tiles after the last.
  Unit Next() {
    Unit unit;
    for (; page_ < task_.pages && !unit; ++page_, tile_ = 0) {
      unit.page = task_.packed + task_.places[page_] * page_bytes_;
      while (tile_ < tiles_ && unit.tiles < 2) Add(tile_++, unit);
      if (tile_ < tiles_) break;
    }
    return unit;
  }

 private:
  void Add(int tile, Unit& unit) const {
    const uint64_t* masks = task_.masks + static_cast<size_t>(page_) * kGroupQueries + tile * kTileQueries;
    const __m512i first = _mm512_loadu_si512(masks), second = _mm512_loadu_si512(masks + 8);
    const __m512i any = _mm512_or_si512(first, second), all = _mm512_and_si512(first, second);
    if (_mm512_test_epi64_mask(any, any) == 0) return;
    unit.tile[unit.tiles] = tile;
    unit.masks[unit.tiles] = masks;
    unit.whole[unit.tiles] = _mm512_cmpeq_epi64_mask(all, _mm512_set1_epi64(-1)) == 0xff;
    ++unit.tiles;
  }

  const TileTask& task_;
  const size_t page_bytes_;
  const int tiles_;
  int page_ = 0, tile_ = 0;
};

// Tiles are numbered with literals, because the intrinsics put the number into the instruction.
//
// Loads queries into tiles 3 to 6 for scores: two chunks of each tile of the unit.
inline void LoadQueries(const Unit& unit, int chunk, bool two_chunks, const Scratch& scratch) {
  _tile_loadd(3, scratch.queries[unit.tile[0]][chunk], 64);
  if (two_chunks) _tile_loadd(4, scratch.queries[unit.tile[0]][chunk + 1], 64);
  if (unit.tiles == 1) return;
  _tile_loadd(5, scratch.queries[unit.tile[1]][chunk], 64);
  if (two_chunks) _tile_loadd(6, scratch.queries[unit.tile[1]][chunk + 1], 64);
}

// Adds the loaded chunks' part of the scores of 16 keys. The first chunks replace what is there.
inline void ScoreKeys(const Unit& unit, int keys, int chunk, bool two_chunks,
                      float (*scores)[kTileQueries][kPagePositions]) {
  constexpr int kRowBytes = kPagePositions * sizeof(float);
  const std::byte* packed = unit.page + (chunk * kKeyTiles + keys) * kTileBytes;
  float* first = scores[0][0] + keys * 16;
  float* second = scores[1][0] + keys * 16;
  if (chunk == 0) {
    _tile_zero(0);
    _tile_zero(1);
  } else {
    _tile_loadd(0, first, kRowBytes);
    _tile_loadd(1, second, kRowBytes);
  }
  _tile_loadd(2, packed, 64);
  _tile_dpbf16ps(0, 3, 2);
  if (unit.tiles == 2) _tile_dpbf16ps(1, 5, 2);
  if (two_chunks) {
    _tile_loadd(7, packed + kKeyTiles * kTileBytes, 64);
    _tile_dpbf16ps(0, 4, 7);
    if (unit.tiles == 2) _tile_dpbf16ps(1, 6, 7);
  }
  _tile_stored(0, first, kRowBytes);
  if (unit.tiles == 2) _tile_stored(1, second, kRowBytes);
}

// The mantissas of 2^f for f in 128ths, rounded to the 7 bits that bf16 keeps. Computed by the compiler, because no
// code of this file may run at start-up on a processor without AMX.
struct Mantissas {
  alignas(64) uint8_t bits[128] = {};

  constexpr Mantissas() {
    double power = 1;
    for (uint8_t& mantissa : bits) {
      mantissa = static_cast<uint8_t>((power - 1) * 128 + 0.5);
      power *= 1.0054299011128028;  // 2^(1/128)
    }
  }
};
constexpr Mantissas kMantissas;

inline float LargestScore(const float* scores, uint64_t mask) {
  __m512 largest = _mm512_set1_ps(kUnknown);
  for (int i = 0; i < kKeyTiles; ++i) {
    const auto keys = static_cast<__mmask16>(_pext_u64(mask, KeysOf(i)));
    largest = _mm512_mask_max_ps(largest, keys, largest, _mm512_load_ps(scores + 16 * i));
  }
  return _mm512_reduce_max_ps(largest);
}

// Turns a query's scores of a page, in 128ths, into weights. 2^x with x rounded to a 128th is a bf16: its exponent is
// the integer part of x, and its mantissa follows from the fraction. Masked keys get zero.
template <bool kWhole>
inline void Weigh(const float* scores, uint64_t mask, float& shift, __m512i low, __m512i high,
                  uint16_t (*weights)[kChunk]) {
  if (shift == kUnknown) shift = LargestScore(scores, mask);
  const __m512 off = _mm512_set1_ps(shift - 127 * 128);  // also adds bf16's exponent bias
  for (int half = 0; half < 2; ++half) {
    const __m512i a = _mm512_cvtps_epi32(_mm512_sub_ps(_mm512_load_ps(scores + 32 * half), off));
    const __m512i b = _mm512_cvtps_epi32(_mm512_sub_ps(_mm512_load_ps(scores + 32 * half + 16), off));
    // Too small a score becomes zero. Too large a score becomes infinity or NaN, which shows in the sum.
    const __m512i x = _mm512_max_epi16(_mm512_packs_epi32(a, b), _mm512_setzero_si512());
    const __m512i mantissa = _mm512_permutex2var_epi8(low, x, high);
    // The lower 7 bits come from the mantissa, the others from x.
    __m512i weight = _mm512_ternarylogic_epi32(_mm512_set1_epi16(0x7f), mantissa, x, 0xca);
    if (!kWhole) weight = _mm512_maskz_mov_epi16(static_cast<__mmask32>(mask >> 32 * half), weight);
    _mm512_store_si512(weights[half * kTileQueries], weight);
  }
}

template <bool kWhole>
void WeighTile(const float (*scores)[kPagePositions], const uint64_t* masks, float* shift,
               uint16_t (*weights)[kChunk]) {
  const __m512i low = _mm512_load_si512(kMantissas.bits), high = _mm512_load_si512(kMantissas.bits + 64);
  for (int q = 0; q < kTileQueries; ++q) Weigh<kWhole>(scores[q], masks[q], shift[q], low, high, weights + q);
}

// Loads weights into tiles 3 to 6, for 64 keys of each tile of the unit.
inline void LoadWeights(const Unit& unit, const uint16_t (*weights)[2][kTileQueries][kChunk]) {
  _tile_loadd(3, weights[0][0], 64);
  _tile_loadd(4, weights[0][1], 64);
  if (unit.tiles == 1) return;
  _tile_loadd(5, weights[1][0], 64);
  _tile_loadd(6, weights[1][1], 64);
}

inline void AddPart(const Unit& unit, int part, const std::byte* values, size_t next_values, Scratch& scratch) {
  float* first = scratch.output[unit.tile[0]][part][0];
  float* second = scratch.output[unit.tile[1]][part][0];
  _tile_loadd(0, first, 64);
  _tile_loadd(2, values, 64);
  _tile_dpbf16ps(0, 3, 2);
  _tile_loadd(7, values + next_values, 64);
  _tile_dpbf16ps(0, 4, 7);
  _tile_stored(0, first, 64);
  if (unit.tiles == 1) return;
  _tile_loadd(1, second, 64);
  _tile_dpbf16ps(1, 5, 2);
  _tile_dpbf16ps(1, 6, 7);
  _tile_stored(1, second, 64);
}

// Computes all scores of a unit.
void Score(const Unit& unit, int chunks, Scratch& scratch) {
  for (int chunk = 0; chunk < chunks; chunk += 2) {
    const bool two = chunk + 1 < chunks;
    LoadQueries(unit, chunk, two, scratch);
    for (int keys = 0; keys < kKeyTiles; ++keys) ScoreKeys(unit, keys, chunk, two, scratch.scores);
  }
  FinishStores();
}

void WeighUnit(const Unit& unit, Scratch& scratch) {
  for (int i = 0; i < unit.tiles; ++i) {
    float* shift = scratch.shift + unit.tile[i] * kTileQueries;
    if (unit.whole[i]) {
      WeighTile<true>(scratch.scores[i], unit.masks[i], shift, scratch.weights[i][0]);
    } else {
      WeighTile<false>(scratch.scores[i], unit.masks[i], shift, scratch.weights[i][0]);
    }
  }
  FinishStores();
}

void AddValues(const Unit& unit, int chunks, int parts, Scratch& scratch) {
  LoadWeights(unit, scratch.weights);
  const std::byte* values = unit.page + chunks * kKeyTiles * kTileBytes;
  for (int part = 0; part < parts; ++part, values += 2 * kTileBytes) AddPart(unit, part, values, kTileBytes, scratch);
  AddPart(unit, parts, reinterpret_cast<const std::byte*>(scratch.ones), 0, scratch);
}

void Gather(const TileTask& task, Scratch& scratch) {
  const int chunks = Chunks(task.head_width), parts = task.head_width / kPart;
  for (auto& tile : scratch.output) std::memset(tile, 0, static_cast<size_t>(parts + 1) * kTileBytes);
  FinishStores();
  Units units(task);
  for (Unit unit = units.Next(); unit; unit = units.Next()) {
    Score(unit, chunks, scratch);
    WeighUnit(unit, scratch);
    AddValues(unit, chunks, parts, scratch);
  }
  FinishStores();
}

float SumOf(const TileTask& task, const Scratch& scratch, int q) {
  return scratch.output[q / kTileQueries][task.head_width / kPart][q % kTileQueries][0];
}

// Whether some query's sum exceeded the bound. If so, finds the largest scores of such queries.
bool FindLargest(const TileTask& task, Scratch& scratch) {
  bool found[kGroupQueries] = {};
  bool any = false;
  for (int q = 0; q < task.count; ++q) {
    if (SumOf(task, scratch, q) <= kMostSum) continue;
    any = found[q] = true;
    scratch.shift[q] = kUnknown;
  }
  if (!any) return false;
  Units units(task);
  for (Unit unit = units.Next(); unit; unit = units.Next()) {
    Score(unit, Chunks(task.head_width), scratch);
    for (int i = 0; i < unit.tiles * kTileQueries; ++i) {
      const int tile = i / kTileQueries, row = i % kTileQueries;
      const int q = unit.tile[tile] * kTileQueries + row;
      if (!found[q]) continue;
      scratch.shift[q] = std::max(scratch.shift[q], LargestScore(scratch.scores[tile][row], unit.masks[tile][row]));
    }
  }
  return true;
}

void WriteOutput(const TileTask& task, const Scratch& scratch) {
  for (int q = 0; q < task.count; ++q) {
    const float sum = SumOf(task, scratch, q);
    const __m512 inverse = _mm512_set1_ps(sum == 0 ? 0.0f : 1.0f / sum);
    float* output = task.output + static_cast<size_t>(q) * task.stride;
    for (int part = 0; part < task.head_width / kPart; ++part) {
      const float* gathered = scratch.output[q / kTileQueries][part][q % kTileQueries];
      _mm512_storeu_ps(output + part * kPart, _mm512_mul_ps(_mm512_load_ps(gathered), inverse));
    }
  }
}

void AttendGroup(const TileTask& task) {
  _tile_loadconfig(&kConfig);
  Scratch scratch;
  PackQueries(task, scratch);
  std::fill_n(scratch.shift, kGroupQueries, kUnknown);
  for (auto& row : scratch.ones) {
    std::fill_n(row, kChunk, uint16_t{0});
    row[0] = row[1] = 0x3f80;
  }
  Gather(task, scratch);
  if (FindLargest(task, scratch)) Gather(task, scratch);
  WriteOutput(task, scratch);
  _tile_release();
}

}  // namespace

const TileKernels kTilesAmx = {.takes = Takes,
                               .packed_bytes = PackedBytes,
                               .pack_f32 = nullptr,
                               .pack_bf16 = Pack,
                               .attend = AttendGroup,
                               .least_density = 0.045};

}  // namespace salient

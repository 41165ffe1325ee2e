// Matrix products on AMX tiles. Tile registers: 0-3 accumulate, 4 and 5 hold inputs, 6 and 7 weights.
//
// One instruction multiplies 16 rows x 64 bytes by a panel's 64 bytes x 16 outputs and takes one cycle per row. A load
// of either operand takes 8 cycles from the first-level cache. For 17 rows and more, tiles of 2 blocks x 2 panels use
// each load twice. Up to 16 rows the loads of weights dominate; tiles of 1 block x 4 panels load each weight once.
//
// A row's result does not depend on the other rows of its tile, nor on the number of rows for which the tile is
// configured. So bf16 is as independent of neighbouring rows as int8 is. Sums that wait in memory between two parts of
// K are the same as sums that stay in a register.

#include "engine/base/amx_tiles.h"
#include "engine/linear/cpu/epilogue.h"
#include "engine/linear/cpu/kernels.h"
#include "engine/linear/cpu/prepare.h"

namespace salient::linear_internal {
namespace {

// The compiler's own intrinsics do not say that they read memory, so it may drop or delay the stores before them.
template <int kTile>
inline void LoadTile(const uint8_t* lines) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(lines), "r"(static_cast<int64_t>(64)), "i"(kTile) : "memory");
}

template <int kTile>
inline void StoreTile(void* lines) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(lines), "r"(static_cast<int64_t>(64)), "i"(kTile) : "memory");
}

template <int kTile>
inline void ZeroTile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}

struct Int8Product {
  using Outputs = Int8Outputs<0>;
  template <int kSum, int kInput, int kWeight>
  static void Add() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kInput), "i"(kWeight));
  }
};

struct Bf16Product {
  using Outputs = FloatOutputs;
  template <int kSum, int kInput, int kWeight>
  static void Add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kInput), "i"(kWeight));
  }
};

// Configures the tiles for `height` rows of inputs and sums. Also zeroes all tiles.
void ConfigureTiles(int32_t height) {
  TileConfig config;
  for (int tile = 0; tile < 6; ++tile) config.rows[tile] = static_cast<uint8_t>(height);
  asm volatile("ldtilecfg %0" : : "m"(config));
}

constexpr int kTileBytes = 1024;

inline const uint8_t* BlockAt(const Multiplication& job, int32_t row) {
  return job.blocks + static_cast<size_t>(row / kBlockRows) * job.chunks * kBlockRows * kChunkBytes;
}

// Holds the sums of four tiles until they are written to the output. They are written one step late, while the next
// tiles are being multiplied. The processor would otherwise wait for the stores.
template <class Product>
class LateFinish {
 public:
  explicit LateFinish(const Multiplication& job) : job_(job) {}

  // Takes the sums of 1 block of rows x 4 panels, or of 2 blocks x 2 panels. Writes those of the call before.
  void Take(int32_t blocks, int32_t row, int32_t panel, int32_t panels) {
    Tiles& tiles = tiles_[next_];
    StoreTile<0>(tiles.sums[0]);
    StoreTile<1>(tiles.sums[1]);
    if (blocks * panels == 4) {
      StoreTile<2>(tiles.sums[2]);
      StoreTile<3>(tiles.sums[3]);
    }
    Flush();
    tiles.blocks = blocks;
    tiles.row = row;
    tiles.panel = panel;
    tiles.panels = panels;
    next_ ^= 1;
  }

  void Flush() {
    Tiles& tiles = tiles_[next_ ^ 1];
    for (int32_t block = 0; block < tiles.blocks; ++block) {
      const int32_t row = tiles.row + block * kBlockRows;
      const int32_t left = job_.last_row - row;
      const Accumulators<Sum> sums = {tiles.sums[block * tiles.panels],      kPanelOutputs, kTileSums, row,
                                      left < kBlockRows ? left : kBlockRows, tiles.panel};
      if (tiles.panels == 4) {
        Finish<4, typename Product::Outputs>(job_, sums);
      } else {
        Finish<2, typename Product::Outputs>(job_, sums);
      }
    }
    tiles.blocks = 0;
  }

 private:
  using Sum = typename Product::Outputs::Sum;
  static constexpr int kTileSums = kBlockRows * kPanelOutputs;

  struct alignas(64) Tiles {
    Sum sums[4][kTileSums];  // [blocks, panels] of [16 rows, 16]
    int32_t blocks = 0, row = 0, panel = 0, panels = 0;
  };

  const Multiplication& job_;
  Tiles tiles_[2];
  int next_ = 0;
};

// One block of rows by kPanels panels, 2 or 4.
template <class Product, int kPanels>
inline void MultiplyBlock(const Multiplication& job, int32_t row, int32_t panel, LateFinish<Product>& finish) {
  const size_t panel_bytes = job.weights->panel_bytes;
  const uint8_t* x = BlockAt(job, row);
  const uint8_t* w0 = job.weights->data + panel * panel_bytes;
  const uint8_t* w1 = w0 + panel_bytes;
  const uint8_t* w2 = w1 + panel_bytes;
  const uint8_t* w3 = w2 + panel_bytes;
  ZeroTile<0>();
  ZeroTile<1>();
  ZeroTile<2>();
  ZeroTile<3>();
  const size_t x_step = static_cast<size_t>(job.height) * kChunkBytes;
  for (int32_t chunk = 0; chunk < job.chunks; ++chunk) {
    const size_t at = static_cast<size_t>(chunk) * kTileBytes;
    LoadTile<4>(x + chunk * x_step);
    LoadTile<6>(w0 + at);
    Product::template Add<0, 4, 6>();
    LoadTile<7>(w1 + at);
    Product::template Add<1, 4, 7>();
    if constexpr (kPanels == 4) {
      LoadTile<6>(w2 + at);
      Product::template Add<2, 4, 6>();
      LoadTile<7>(w3 + at);
      Product::template Add<3, 4, 7>();
    }
  }
  finish.Take(1, row, panel, kPanels);
}

// Chunks [first, last) of K. Between two parts of K the sums wait in `sums`, without rounding.
struct PartOfK {
  int32_t first, last;
  uint8_t* sums;  // four tiles
};

// 8 KB of each of two blocks. They stay in the first-level cache while the panels of a group pass. With all of K =
// 2048, inputs and weights would both come from the second-level cache, which is too slow for that.
constexpr int32_t kPartChunks = 8;
constexpr int32_t kGroupPanels = 16;

// Two blocks of rows by two panels.
template <class Product>
inline void MultiplyTwoBlocks(const Multiplication& job, int32_t row, int32_t panel, const PartOfK& part,
                              LateFinish<Product>& finish) {
  const size_t panel_bytes = job.weights->panel_bytes;
  const uint8_t* x0 = BlockAt(job, row);
  const uint8_t* x1 = BlockAt(job, row + kBlockRows);
  const uint8_t* w0 = job.weights->data + panel * panel_bytes;
  const uint8_t* w1 = w0 + panel_bytes;
  if (part.first == 0) {
    ZeroTile<0>();
    ZeroTile<1>();
    ZeroTile<2>();
    ZeroTile<3>();
  } else {
    LoadTile<0>(part.sums);
    LoadTile<1>(part.sums + kTileBytes);
    LoadTile<2>(part.sums + 2 * kTileBytes);
    LoadTile<3>(part.sums + 3 * kTileBytes);
  }
  for (int32_t chunk = part.first; chunk < part.last; ++chunk) {
    const size_t at = static_cast<size_t>(chunk) * kTileBytes;
    LoadTile<6>(w0 + at);
    LoadTile<4>(x0 + at);
    Product::template Add<0, 4, 6>();
    LoadTile<7>(w1 + at);
    Product::template Add<1, 4, 7>();
    LoadTile<5>(x1 + at);
    Product::template Add<2, 5, 6>();
    Product::template Add<3, 5, 7>();
  }
  if (part.last == job.chunks) {
    finish.Take(2, row, panel, 2);
  } else {
    StoreTile<0>(part.sums);
    StoreTile<1>(part.sums + kTileBytes);
    StoreTile<2>(part.sums + 2 * kTileBytes);
    StoreTile<3>(part.sums + 3 * kTileBytes);
  }
}

// Two blocks of rows by all panels of the job.
template <class Product>
void MultiplyTwoBlockRows(const Multiplication& job, int32_t row, LateFinish<Product>& finish) {
  alignas(64) uint8_t sums[kGroupPanels / 2][4 * kTileBytes];
  for (int32_t group = job.first_panel; group < job.last_panel; group += kGroupPanels) {
    const int32_t end = job.last_panel - group < kGroupPanels ? job.last_panel : group + kGroupPanels;
    for (int32_t chunk = 0; chunk < job.chunks; chunk += kPartChunks) {
      const int32_t last = job.chunks - chunk < kPartChunks ? job.chunks : chunk + kPartChunks;
      for (int32_t panel = group; panel < end; panel += 2) {
        MultiplyTwoBlocks<Product>(job, row, panel, {chunk, last, sums[(panel - group) / 2]}, finish);
      }
    }
  }
}

template <class Product>
void MultiplyAmx(const Multiplication& job) {
  LateFinish<Product> finish(job);
  ConfigureTiles(job.height);
  // Rows are the outer loop, so that outputs are written along their rows.
  int32_t row = job.first_row;
  for (; job.last_row - row > kBlockRows; row += 2 * kBlockRows) MultiplyTwoBlockRows<Product>(job, row, finish);
  if (row < job.last_row) {
    int32_t panel = job.first_panel;
    for (; panel + 4 <= job.last_panel; panel += 4) MultiplyBlock<Product, 4>(job, row, panel, finish);
    for (; panel < job.last_panel; panel += 2) MultiplyBlock<Product, 2>(job, row, panel, finish);
  }
  asm volatile("tilerelease");
  finish.Flush();
}

// Rounds two vectors of 16 inputs to the 32 bf16 of one line of a chunk.
void PrepareBf16(const Preparation& job) {
  for (int32_t row = job.first_row; row < job.last_row; ++row) {
    uint8_t* to = RowInBlocks(job, row);
    ForEachChunk<32>(job, row, [&](int32_t chunk, const float* x) {
      uint8_t* line = to + static_cast<size_t>(chunk) * job.height * kChunkBytes;
      for (int i = 0; i < 32; i += kLanes) {
        const Ints upper = RoundToBf16(Load<Floats>(x + i)) >> 16;
        Store(line + 2 * i, __builtin_convertvector(upper, Shorts));
      }
    });
  }
}

}  // namespace

const Kernels kAmxKernels = {
    {},  // AMX has no fp32: kAvx512Kernels has those
    {32, PrepareBf16, MultiplyAmx<Bf16Product>},
    {64, PrepareInt8<0>, MultiplyAmx<Int8Product>},
};

}  // namespace salient::linear_internal

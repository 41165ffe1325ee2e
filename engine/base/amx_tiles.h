// How AMX tiles are configured: the operand of ldtilecfg, as the processor reads it.
//
// Included by files that are compiled for different instruction sets: types without code only.

#pragma once

#include <cstdint>

namespace salient {

// Eight tiles of 16 rows of 64 bytes, unless changed. Loading a configuration zeroes the tiles.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace salient

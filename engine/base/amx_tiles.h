// The configuration of AMX tiles: the memory operand of ldtilecfg.
//
// Files that are compiled for different instruction sets include this header, so it has types and no code.

#pragma once

#include <cstdint>

namespace salient {

// By default eight tiles of 16 rows of 64 bytes. Loading a configuration zeroes the tiles.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace salient

// The kernels of the CPU's linear layer: one table of functions for each instruction set, all on the same data layout.
//
// Input rows. A block is 16 rows, or all rows if there are fewer, cut along K into chunks of 64 bytes a row:
//   [blocks][chunks][height][64 bytes],  height = min(rows, 16)
// A chunk of a block is one AMX tile. For a kernel that works on a few rows, the lines of a chunk are next to each
// other and so never compete for the same cache sets, as rows with a stride of a power of two would.
//
// Weights. A panel is 16 outputs; as many inputs as fill 4 bytes are stored next to each other:
//   fp32 [panels][K][16], bf16 [panels][K / 2][16][2], int8 [panels][K / 4][16][4]
// so that 16 consecutive lines of bf16 or int8 are an AMX tile, one line is the operand of vpdpbusd, and the layer is
// read from memory in order. K is padded with zeros to whole chunks, and the panels to an even number.
//
// Every result is the sum over k = 0, 1, 2, ... in that order in one accumulator (int8: exact), whatever the number
// of rows, so rows do not depend on each other.
//
// Included by files that are compiled for different instruction sets: types without code only, because the linker
// keeps one copy of an inline function and any of those files' could be it.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/linear/linear.h"

namespace salient::linear_internal {

inline constexpr int kBlockRows = 16;
inline constexpr int kPanelOutputs = 16;
inline constexpr int kChunkBytes = 64;

struct PackedWeights {
  int32_t inputs = 0, outputs = 0;
  int32_t padded_inputs = 0;  // what a panel has
  int32_t panels = 0;         // even
  size_t panel_bytes = 0;
  const uint8_t* data = nullptr;  // [panels, panel_bytes]
  const float* bias = nullptr;    // [panels * 16]
  const float* scale = nullptr;   // [panels * 16]: int8 weight n stands for value * scale[n]; else null
  const int32_t* sum = nullptr;   // [panels * 16]: int8, over the values of an output; else null
};

struct Preparation {
  const float* input = nullptr;  // [rows, inputs]
  int32_t inputs = 0;
  int32_t first_row = 0, last_row = 0;  // the rows to prepare: [first, last)
  int32_t height = 0;
  int32_t chunks = 0;
  uint8_t* blocks = nullptr;
  float* scale = nullptr;  // [rows]: int8 value x of row i stands for x * scale[i]; not written otherwise
};

struct Multiplication {
  const PackedWeights* weights = nullptr;
  const uint8_t* blocks = nullptr;
  const float* scale = nullptr;  // [rows]
  int32_t height = 0, chunks = 0;
  int32_t first_row = 0, last_row = 0;      // first_row is a multiple of 16
  int32_t first_panel = 0, last_panel = 0;  // both even
  Activation activation = Activation::kNone;
  bool accumulate = false;
  float* output = nullptr;
  const int32_t* output_row = nullptr;  // [rows]: where results go; null for row i to i
};

struct Kernel {
  int32_t chunk_inputs = 0;  // how many elements of a row make a chunk
  void (*prepare)(const Preparation&) = nullptr;
  void (*multiply)(const Multiplication&) = nullptr;
};

struct Kernels {
  Kernel f32, bf16, int8;
};

extern const Kernels kBaselineKernels;  // whatever the compiler assumes of every machine
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;  // with VNNI; bf16 by fp32 arithmetic
extern const Kernels kAmxKernels;     // f32 is kAvx512Kernels'

}  // namespace salient::linear_internal

// The peaks of this machine: loops that only multiply and add in registers, and loops that only read.
//
// Files that are compiled for different instruction sets include this header, so it has types and no code.

#pragma once

#include <cstdint>

#include "engine/base/cpu_features.h"

namespace salient::benchmarks {

// One kind of arithmetic. `run` is null if the instruction set does not have it.
struct PeakLoop {
  void (*run)(int64_t rounds) = nullptr;
  double operations = 0;  // multiplications and additions of one round
};

// The arithmetic that kernels of one instruction set use for their products.
struct RoofLoops {
  PeakLoop f32;
  PeakLoop bf16;          // of many rows: tiles, else f32
  PeakLoop int8;          // of many rows: tiles, else vectors
  PeakLoop int8_vectors;  // of one row, and of selection
  // The result depends on every value; `count` is a multiple of 256.
  float (*read)(const float* values, int64_t count) = nullptr;
};

extern const RoofLoops kRoofsPortable;  // reads only
extern const RoofLoops kRoofsAvx2;
extern const RoofLoops kRoofsAvx512;
extern const PeakLoop kTilesInt8, kTilesBf16;  // AMX

// The best loops of an instruction set and the lower ones.
RoofLoops RoofLoopsFor(CpuIsa isa);

}  // namespace salient::benchmarks

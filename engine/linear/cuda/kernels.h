// Linear layers on a CUDA device; contract in engine/linear/linear.h. All pointers are the device's.

#pragma once

#include "engine/core/cuda/language.h"
#include "engine/linear/cuda/gemm.h"
#include "engine/linear/linear.h"

namespace salient::cuda {

// fp32: weight[k][n], one thread an output.
struct WeightsF32 {
  const float* weight = nullptr;
  const float* bias = nullptr;
  int32_t inputs = 0, outputs = 0;
};
void LinearF32(Device& device, const WeightsF32& weights, const LinearArgs& args);

// For tensor cores, in the order in which lanes read it. A word is two weights in bf16 or four in int8; for outputs 8 n
// .. and input words 16 k .., lane l has the 16 bytes at [n][k][l]: second operands (tensor_core.h) of words 16 k .. +
// 7, then of + 8 .. + 15. Padded with zeros.
inline constexpr int kFragmentOutputs = 8;
inline constexpr int kFragmentWords = 16;
struct WeightsInFragments {
  const uint4* fragments = nullptr;
  const float* bias = nullptr;
  const float* scale = nullptr;  // [outputs]: int8 weight v of output n stands for v * scale[n]; null for bf16
  int32_t inputs = 0, outputs = 0;
};
void LinearFewBF16(Device& device, const WeightsInFragments& weights, const LinearArgs& args);
// LinearFewBF16 of rows that are in bf16 already: args.input holds them, [rows, inputs], aligned to 16 bytes.
bool LinearFewTakesRounded(const WeightsInFragments& weights);
void LinearFewRounded(Device& device, const WeightsInFragments& weights, const LinearArgs& args);
// The CPU's int8 (engine/linear/cpu/prepare.h) to the bit, but for gelu and swish: rows quantised by their largest
// value, sums of integers.
void LinearFewInt8(Device& device, const WeightsInFragments& weights, const LinearArgs& args);

// bf16 by a library. Inputs and outputs are multiples of kGemmMultiple; every row of args.rows has a result, and its
// place in the output is its own. `rounded`: room for the rows in bf16; `workspace`: GemmCall's.
inline constexpr int kGemmMultiple = 8;
struct WeightsInRows {
  const uint16_t* weight = nullptr;  // [outputs, inputs]
  const float* bias = nullptr;
  int32_t inputs = 0, outputs = 0;
};
void LinearMany(Device& device, GemmAlgorithm& gemm, const WeightsInRows& weights, const LinearArgs& args,
                uint16_t* rounded, std::byte* workspace);

}  // namespace salient::cuda

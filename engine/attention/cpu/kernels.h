// The inner loops of selection and attention, one table of them for each instruction set.
//
// Kernels see raw pointers and know nothing of documents; the other files of this folder find the pointers and divide
// the work. Every table gives the same integers; floating-point results may differ between tables in the last bits.

#pragma once

#include <cstdint>

#include "engine/base/cpu_features.h"
#include "engine/core/kv_store.h"

namespace salient {

// A query as int8, for scoring.
struct SelectionQuery {
  const int8_t* components = nullptr;  // [width]
  int32_t width = 0;                   // a multiple of 4
  int32_t sum = 0;                     // of the components
};

inline constexpr int kQueriesAtOnce = 16;

// Several queries, for scoring them together over one document.
struct ScoreTask {
  const int8_t* queries = nullptr;       // [kQueriesAtOnce][query_bytes] components, the rest of a row zero
  size_t query_bytes = 0;                // a multiple of 64
  int32_t width = 0;                     // a multiple of 4
  const int8_t* const* pages = nullptr;  // [blocks / 4, rounded up] keys as in kv_store.h
  int32_t blocks = 0;                    // of kSelectionBlock keys
  int32_t* scores = nullptr;             // [kQueriesAtOnce][stride]
  size_t stride = 0;                     // at least blocks * kSelectionBlock; a multiple of 16, but not of 1,024
};

struct SelectKernels {
  // scores[16 b + i] = <query, key i of block b> for consecutive blocks laid out as in kv_store.h.
  void (*score)(const int8_t* keys, int32_t blocks, const SelectionQuery& query, int32_t* scores);
  // max |x|
  float (*largest)(const float* x, int32_t n);
  // QuantiseComponent (quantise.h) of each; returns their sum.
  int32_t (*quantise)(const float* x, int32_t n, float factor, int8_t* out);
  void (*range)(const int32_t* scores, int32_t n, int32_t* least, int32_t* greatest);
  // Copies the scores above `low` but not above `high`, in any order; `out` has room for n. Returns how many.
  int32_t (*between)(const int32_t* scores, int32_t n, int32_t low, int32_t high, int32_t* out);
  // How many scores are above the threshold, and the sum of their weights.
  int32_t (*count_above)(const int32_t* scores, int32_t n, int32_t threshold);
  uint64_t (*mass_above)(const int32_t* scores, const uint32_t* weights, int32_t n, int32_t threshold);
  // Lists, ascending, the indices of all scores above the threshold and of the first `ties` equal to it; `indices` has
  // room for n. Returns how many.
  int32_t (*list_above)(const int32_t* scores, int32_t n, int32_t threshold, int32_t ties, int32_t* indices);
};

inline constexpr int kMostHeadsInTask = 16;

// Some heads of one query over its keys.
struct AttendTask {
  const std::byte* const* keys = nullptr;  // [count] K of each key, at the first of the heads
  int32_t count = 0;
  size_t value_offset = 0;       // bytes from K to V
  size_t key_scale = 0;          // int8: bytes from K to the first head's scale of K; the other heads' follow
  size_t value_scale = 0;        // likewise of V
  const float* query = nullptr;  // at the first of the heads
  float* output = nullptr;       // likewise
  int32_t heads = 0;             // at most kMostHeadsInTask
  int32_t head_width = 0;
};

struct AttendKernels {
  void (*attend_f32)(const AttendTask& task);
  void (*attend_bf16)(const AttendTask& task);
  void (*attend_int8)(const AttendTask& task);
  void (*to_bf16)(const float* x, int32_t n, uint16_t* out);  // FloatToBF16 of each
};

struct AttentionKernels {
  SelectKernels select;
  AttendKernels attend;
};

const AttentionKernels& AttentionKernelsFor(CpuIsa isa);

// Scores kQueriesAtOnce queries together; null where one after the other is as fast.
using ScoreManyKernel = void (*)(const ScoreTask& task);
ScoreManyKernel ScoreManyKernelFor(CpuIsa isa);
void ScoreManyAmx(const ScoreTask& task);

extern const AttentionKernels kAttentionPortable, kAttentionAvx2, kAttentionAvx512;

}  // namespace salient

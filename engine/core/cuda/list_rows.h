// Lists of rows made by one block.

#pragma once

#include "engine/core/cuda/language.h"

namespace salient::cuda {

inline constexpr int kListThreads = 256;
inline constexpr int kListWarps = kListThreads / kWarp;

// Lists the rows that `keep(row)` holds for, in their order, and their number; by all threads of a block. `listed` and
// `count` may be those of `rows`.
template <typename Keep>
__device__ void ListRows(const Rows& rows, int32_t* listed, int32_t* count, const Keep& keep) {
  __shared__ int32_t kept_of[kListWarps];
  const int size = RowCount(rows);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  int32_t total = 0;
  for (int first = 0; first < size; first += kListThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    const int32_t row = i < size ? RowAt(rows, i) : -1;
    const bool kept = row >= 0 && keep(row);
    const unsigned ballot = __ballot_sync(kAllLanes, kept);
    if (lane == 0) kept_of[warp] = __popc(ballot);
    __syncthreads();
    int32_t before = total;
    for (int w = 0; w < kListWarps; ++w) {
      if (w < warp) before += kept_of[w];
      total += kept_of[w];
    }
    if (kept) listed[before + __popc(ballot & ((1u << lane) - 1))] = row;
    __syncthreads();  // before the next round writes kept_of
  }
  if (threadIdx.x == 0) *count = total;
}

}  // namespace salient::cuda

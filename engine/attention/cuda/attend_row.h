// Attention of one query over some of its keys: the arithmetic of AttendRowsKernel.
//
// A position's K and V are one row of memory, and a warp works on it as a whole for all heads at once. Lane l holds
// kEach consecutive components of the query, of K, of V and of the output; the kEach-wide products of the lanes that
// share a head are added by shuffles, so each head's score reaches its own lanes, which keep its softmax. A warp takes
// kAtOnce keys at a time, its block's warps in turn.
//
// Many keys are divided into splits; the division depends on the number of keys alone. Each split stores its maximum,
// sum and weighted values. The block that finishes a row's last split adds them up in the order of the keys, so the
// result does not depend on which block computed which split. Fused operations are written out (fmaf, __fmul_rn) and not
// left to the compiler, which may choose otherwise for another instance of the kernel.

#pragma once

#include "engine/attention/attend.h"
#include "engine/attention/cuda/operations.h"
#include "engine/attention/cuda/row_block.h"
#include "engine/core/cuda/pages.h"

namespace salient::cuda {

inline constexpr int kSplitKeys = 128;  // keys of a split, as long as there are splits
inline constexpr int kMostSplits = 32;
inline constexpr float kNothing = -INFINITY;

// Lanes share heads evenly: kEach divides a head's width, a power of two lanes of it to a head.
inline bool LanesFit(int32_t each, int32_t width, int32_t heads) {
  const int32_t head_width = width / heads;
  if (width != each * kWarp || head_width % each != 0) return false;
  const int32_t lanes = head_width / each;
  return (lanes & (lanes - 1)) == 0 && lanes <= kWarp;
}

struct Keys {
  const int32_t* pages;
  const int32_t* listed;  // positions; null: first, first + 1, ...
  int32_t first, count;

  __device__ int32_t Position(int32_t j) const { return listed == nullptr ? first + j : listed[j]; }
};

// By one thread.
__device__ inline void Tally(const AttendArgs& args, int32_t row, int32_t read) {
  if (args.tallies == nullptr) return;
  AttentionTally& tally = args.tallies[row];
  tally.visible += args.views[row].length;
  tally.attended += read;
  tally.executed += read;
}

// A row's keys in splits of consecutive ones.
struct Division {
  __device__ explicit Division(int32_t count)
      : keys(count), splits(max(1, min(kMostSplits, CeilDiv(count, kSplitKeys)))), each(CeilDiv(count, splits)) {}

  int32_t keys, splits, each;

  __device__ int32_t First(int32_t split) const { return split * each; }
  __device__ int32_t Last(int32_t split) const { return min(First(split) + each, keys); }
};

// What a lane holds of a key until it is worked on: the words as they are in memory.
template <typename T, int kEach>
struct Held {
  static_assert(kEach * sizeof(T) % 16 == 0);
  static constexpr int kWords = kEach * sizeof(T) / 16;
  uint4 words[kWords];

  __device__ void Load(const T* from) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = reinterpret_cast<const uint4*>(from)[w];
  }
  __device__ void Clear() {
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = make_uint4(0, 0, 0, 0);
  }
  __device__ void Unpack(float (&values)[kEach]) const {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const uint32_t parts[4] = {words[w].x, words[w].y, words[w].z, words[w].w};
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        if constexpr (sizeof(T) == 1) {
          for (int b = 0; b < 4; ++b) {
            values[16 * w + 4 * p + b] = static_cast<float>(static_cast<int8_t>(parts[p] >> (8 * b)));
          }
        } else if constexpr (sizeof(T) == 4) {
          values[4 * w + p] = __uint_as_float(parts[p]);
        } else {
          values[8 * w + 2 * p] = __uint_as_float(parts[p] << 16);
          values[8 * w + 2 * p + 1] = __uint_as_float(parts[p] & 0xffff0000u);
        }
      }
    }
  }
};

template <typename T, int kEach>
inline constexpr int kAtOnce = sizeof(T) * kEach <= 32 ? 4 : 2;

// A lane's components of a row's query, scaled.
template <int kEach>
struct Query {
  float values[kEach];
  int lanes_a_head;

  __device__ Query(const AttendArgs& args, int32_t i, int32_t width) {
    const int32_t head_width = width / args.heads;
    const float scale = 1.0f / sqrtf(static_cast<float>(head_width));
    const auto* from =
        reinterpret_cast<const float4*>(args.queries + static_cast<size_t>(i) * width + threadIdx.x % kWarp * kEach);
#pragma unroll
    for (int w = 0; w < kEach / 4; ++w) {
      const float4 word = from[w];
      values[4 * w] = word.x * scale;
      values[4 * w + 1] = word.y * scale;
      values[4 * w + 2] = word.z * scale;
      values[4 * w + 3] = word.w * scale;
    }
    lanes_a_head = head_width / kEach;
  }
};

// Of each key that a warp holds, the score of the lane's head; of those from `there` on, nothing.
template <typename T, int kEach, int kKeys>
__device__ void ScoreKeys(const Held<T, kEach> (&keys)[kKeys], int32_t there, const Query<kEach>& query,
                          float (&scores)[kKeys]) {
#pragma unroll
  for (int a = 0; a < kKeys; ++a) {
    float values[kEach];
    keys[a].Unpack(values);
    float score = 0;
#pragma unroll
    for (int c = 0; c < kEach; ++c) score = fmaf(query.values[c], values[c], score);
    for (int step = query.lanes_a_head / 2; step > 0; step /= 2) score += __shfl_xor_sync(kAllLanes, score, step);
    scores[a] = a < there ? score : kNothing;
  }
}

// A softmax under way: of one head, of some keys. Values are those of a lane's components.
template <int kEach>
struct Running {
  float largest, sum;
  float values[kEach];

  __device__ void Clear() {
    largest = kNothing;
    sum = 0;
#pragma unroll
    for (int c = 0; c < kEach; ++c) values[c] = 0;
  }

  // Values of keys that are not there are finite.
  // `scales`: of each key's values; null: 1.
  template <typename T, int kKeys>
  __device__ void Add(const float (&scores)[kKeys], const Held<T, kEach> (&of_keys)[kKeys],
                      const float* scales = nullptr) {
    const float before = largest;
#pragma unroll
    for (int a = 0; a < kKeys; ++a) largest = fmaxf(largest, scores[a]);
    const float shrink = expf(before - largest);
    sum = __fmul_rn(sum, shrink);
#pragma unroll
    for (int c = 0; c < kEach; ++c) values[c] = __fmul_rn(values[c], shrink);
#pragma unroll
    for (int a = 0; a < kKeys; ++a) {
      const float weight = expf(scores[a] - largest);
      sum = __fadd_rn(sum, weight);
      const float scaled = scales == nullptr ? weight : __fmul_rn(weight, scales[a]);
      float own[kEach];
      of_keys[a].Unpack(own);
#pragma unroll
      for (int c = 0; c < kEach; ++c) values[c] = fmaf(scaled, own[c], values[c]);
    }
  }
};

// One split's result in its block: the warps' softmaxes.
template <int kEach>
struct Part {
  float largest[kRowWarps][kWarp], sum[kRowWarps][kWarp];
  float values[kRowWarps][kWarp * kEach];

  // The warp's own.
  __device__ void Leave(const Running<kEach>& running) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    largest[warp][lane] = running.largest;
    sum[warp][lane] = running.sum;
#pragma unroll
    for (int c = 0; c < kEach; ++c) values[warp][lane * kEach + c] = running.values[c];
  }
};

// Where a split leaves its values, and its maximum and sum a head. `slot`: the row's place in the launch.
__device__ inline float* PartialOf(const AttendSpace& space, int32_t slot, int32_t split, int32_t width) {
  return space.partial + (static_cast<size_t>(slot) * kMostSplits + split) * (width + 2 * kWarp);
}

// Adds up a split's warps, in their order: the row's output where it has one split, else a partial result.
template <int kEach>
__device__ void MergeWarps(const Part<kEach>& part, const Division& division, int32_t split, const AttendSpace& space,
                           int32_t slot, float* output) {
  constexpr int32_t kWidth = kWarp * kEach;
  float* left = division.splits == 1 ? output : PartialOf(space, slot, split, kWidth);
  for (auto c = static_cast<int32_t>(threadIdx.x); c < kWidth; c += kRowThreads) {
    const int of = c / kEach;
    float largest = kNothing;
    for (int w = 0; w < kRowWarps; ++w) largest = fmaxf(largest, part.largest[w][of]);
    float sum = 0, value = 0;
    for (int w = 0; w < kRowWarps; ++w) {
      const float weight = part.largest[w][of] == kNothing ? 0.0f : expf(part.largest[w][of] - largest);
      sum = fmaf(weight, part.sum[w][of], sum);
      value = fmaf(weight, part.values[w][c], value);
    }
    if (division.splits == 1) {
      left[c] = division.keys == 0 ? 0.0f : value / sum;
      continue;
    }
    left[c] = value;
    if (c % kEach == 0) {
      left[kWidth + of] = largest;
      left[kWidth + kWarp + of] = sum;
    }
  }
}

// After a block has left `own` of a row's splits: if they were the last, adds up all of them, in their order.
template <int kEach>
__device__ void FinishRow(int32_t own, int32_t splits, const AttendSpace& space, int32_t slot, float* output) {
  constexpr int32_t kWidth = kWarp * kEach;
  __shared__ int32_t done;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) done = atomicAdd(&space.done[slot], own) + own;
  __syncthreads();
  if (done != splits) return;
  __threadfence();
  for (auto c = static_cast<int32_t>(threadIdx.x); c < kWidth; c += kRowThreads) {
    const int lane = c / kEach;
    float largest = kNothing;
    for (int32_t s = 0; s < splits; ++s) largest = fmaxf(largest, PartialOf(space, slot, s, kWidth)[kWidth + lane]);
    float sum = 0, value = 0;
    for (int32_t s = 0; s < splits; ++s) {
      const float* part = PartialOf(space, slot, s, kWidth);
      const float weight = expf(part[kWidth + lane] - largest);
      sum = fmaf(weight, part[kWidth + kWarp + lane], sum);
      value = fmaf(weight, part[c], value);
    }
    output[c] = value / sum;
  }
  if (threadIdx.x == 0) space.done[slot] = 0;
}

}  // namespace salient::cuda

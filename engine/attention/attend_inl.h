// One query over its keys, for one instruction set S (engine/base/simd_portable.h).
//
// Online softmax over blocks of 16 keys of the query's own list: scores of a block, then
//   m' = max(m, scores), p = 2^(scores - m'), sum = sum * 2^(m - m') + p, out = out * 2^(m - m') + p V.
// Scores carry a factor log2(e) / sqrt(head width), so that powers of two serve.
//
// A decoding step's time goes into fetching rows of K and V that are strewn over the store. While a block's K rows are
// read, the same rows' V is prefetched, and while its V is read the next block's K: a block, 16 to 32 KB, is in flight,
// which the first-level cache holds.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/attention/kernels.h"
#include "engine/base/simd_math.h"

namespace salient {

inline constexpr int kKeyBlock = 16;
inline constexpr int kCacheLine = 64;

template <typename S>
inline void PrefetchBytes(const std::byte* p, int bytes) {
  for (int i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(p + i);
}

template <typename S, typename T>
inline float Dot(const float* query, const T* key, int width) {
  typename S::F sum = S::Set(0);
  for (int c = 0; c < width; c += S::kLanes) {
    sum = S::MulAdd(LoadUpTo<S>(query + c, width - c), LoadUpTo<S>(key + c, width - c), sum);
  }
  return S::Sum(sum);
}

// Turns a block's scores into weights, updates the running maximum and sum, and returns 2^(m - m').
template <typename S>
inline float SoftmaxBlock(float* scores, float& largest, float& sum) {
  typename S::F block = S::Load(scores);
  for (int i = S::kLanes; i < kKeyBlock; i += S::kLanes) block = S::Max(block, S::Load(scores + i));
  const float before = largest;
  largest = std::max(before, S::Largest(block));
  alignas(64) float correction[S::kLanes];
  S::Store(correction, Exp2<S>(S::Set(before - largest)));
  typename S::F total = S::Set(0);
  for (int i = 0; i < kKeyBlock; i += S::kLanes) {
    const typename S::F weight = Exp2<S>(S::Sub(S::Load(scores + i), S::Set(largest)));
    S::Store(scores + i, weight);
    total = S::Add(total, weight);
  }
  sum = sum * correction[0] + S::Sum(total);
  return correction[0];
}

// output = output * correction + sum_j weights[j] V_j, where the j-th V is `offset` elements after keys[j].
template <typename S, typename T, int kWidth>
inline void AddValues(const std::byte* const* keys, int count, size_t offset, const float* weights, float correction,
                      int runtime_width, float* output) {
  const int width = kWidth > 0 ? kWidth : runtime_width;
  constexpr int kChunks = kWidth > 0 ? kWidth / S::kLanes : 1;  // held in registers while the keys go by
  for (int c = 0; c < width; c += kChunks * S::kLanes) {
    typename S::F sums[kChunks];
    for (int k = 0; k < kChunks; ++k) {
      const int at = c + k * S::kLanes;
      sums[k] = S::Mul(LoadUpTo<S>(output + at, width - at), S::Set(correction));
    }
    for (int j = 0; j < count; ++j) {
      const T* value = reinterpret_cast<const T*>(keys[j] + offset) + c;
      const typename S::F weight = S::Set(weights[j]);
      for (int k = 0; k < kChunks; ++k) {
        sums[k] = S::MulAdd(weight, LoadUpTo<S>(value + k * S::kLanes, width - c - k * S::kLanes), sums[k]);
      }
    }
    for (int k = 0; k < kChunks; ++k) {
      const int at = c + k * S::kLanes;
      StoreUpTo<S>(output + at, sums[k], width - at);
    }
  }
}

template <typename S, typename T, int kWidth>
void AttendHeads(const AttendTask& task) {
  const int width = kWidth > 0 ? kWidth : task.head_width;
  const int head_bytes = width * static_cast<int>(sizeof(T));
  const float scale = 1.44269504f / std::sqrt(static_cast<float>(width));
  alignas(64) float scores[kMostHeadsInTask * kKeyBlock];
  float largest[kMostHeadsInTask], sums[kMostHeadsInTask];
  std::fill_n(largest, task.heads, -std::numeric_limits<float>::infinity());
  std::fill_n(sums, task.heads, 0.0f);
  std::fill_n(task.output, task.heads * width, 0.0f);

  for (int first = 0; first < task.count; first += kKeyBlock) {
    const std::byte* const* keys = task.keys + first;
    const int count = std::min(kKeyBlock, task.count - first);
    const int next_count = std::min(kKeyBlock, task.count - first - count);
    for (int j = 0; j < count; ++j) {
      for (int head = 0; head < task.heads; ++head) {
        PrefetchBytes<S>(keys[j] + task.value_offset + head * head_bytes, head_bytes);
        scores[head * kKeyBlock + j] =
            Dot<S>(task.query + head * width, reinterpret_cast<const T*>(keys[j]) + head * width, width) * scale;
      }
    }
    for (int head = 0; head < task.heads; ++head) {
      float* weights = scores + head * kKeyBlock;
      std::fill(weights + count, weights + kKeyBlock, -std::numeric_limits<float>::infinity());
      const float correction = SoftmaxBlock<S>(weights, largest[head], sums[head]);
      for (int j = 0; j < next_count; ++j) PrefetchBytes<S>(keys[kKeyBlock + j] + head * head_bytes, head_bytes);
      AddValues<S, T, kWidth>(keys, count, task.value_offset + head * head_bytes, weights, correction, width,
                              task.output + head * width);
    }
  }
  if (task.count == 0) return;
  for (int head = 0; head < task.heads; ++head) {
    const float inverse = 1.0f / sums[head];
    for (int c = 0; c < width; ++c) task.output[head * width + c] *= inverse;
  }
}

template <typename S, typename T>
void Attend(const AttendTask& task) {
  switch (task.head_width) {
    case 32:
      return AttendHeads<S, T, 32>(task);
    case 64:
      return AttendHeads<S, T, 64>(task);
    default:
      return AttendHeads<S, T, 0>(task);
  }
}

}  // namespace salient

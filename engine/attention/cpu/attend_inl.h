// One query over its keys, for one instruction set S (engine/base/simd_portable.h).
//
// Online softmax over blocks of 16 keys of the query's own list: scores of a block, then
//   m' = max(m, scores), p = 2^(scores - m'), sum = sum * 2^(m - m') + p, out = out * 2^(m - m') + p V.
// Scores carry a factor log2(e) / sqrt(head width), so that powers of two take the place of exponentials.
//
// int8 components are whole numbers to the loops: a key's scale is applied to its score, and the scale of its values to
// its weight.
//
// A decoding step spends its time on fetching rows of K and V, which are scattered over the store. While the K rows of
// a block are read, the V of the same rows is prefetched; while its V is read, the K of the next block is. So one block
// is in flight at a time, 16 to 32 KB, which fits the first-level cache.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/attention/cpu/kernels.h"
#include "engine/base/simd_math.h"

namespace salient {

inline constexpr int kKeyBlock = 16;
inline constexpr int kKeysAtOnce = 4;  // scored together, a row of memory each
inline constexpr int kCacheLine = 64;

inline void Prefetch(const std::byte* p, int bytes) {
  for (int i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(p + i);
}

// How a head's components lie in vectors. A head of any width is taken in order, its last vector partly filled.
template <typename S, typename T, int kWidth>
struct HeadVectors {
  static_assert(kWidth % (2 * S::kLanes) == 0);
  static constexpr int kCount = kWidth / S::kLanes;
  // 32 bits hold two bf16: a shift makes one of them an fp32 and a mask the other, with no shuffle. The query, and what
  // is gathered, are kept in the order that this gives.
  static constexpr bool kPaired = sizeof(T) == 2;

  static void Load(const T* p, typename S::F (&v)[kCount]) {
    if constexpr (kPaired) {
      for (int i = 0; i < kCount; i += 2) S::LoadPairs(p + i * S::kLanes, &v[i], &v[i + 1]);
    } else {
      for (int i = 0; i < kCount; ++i) v[i] = S::Load(p + i * S::kLanes);
    }
  }
  // The component that is kept at place i.
  static int ComponentAt(int i) {
    if constexpr (!kPaired) return i;
    constexpr int kPairs = 2 * S::kLanes;
    const int within = i % kPairs;
    return i - within + (within < S::kLanes ? 2 * within : 2 * (within - S::kLanes) + 1);
  }
};

// scores[j] = scale * <query, K_j> of a head, for `count` keys of a block; the query as HeadVectors keeps it.
template <typename S, typename T, int kWidth>
inline void ScoreBlock(const std::byte* const* keys, int count, size_t offset, const float* query, float scale,
                       float* scores) {
  using Head = HeadVectors<S, T, kWidth>;
  typename S::F components[Head::kCount];
  for (int i = 0; i < Head::kCount; ++i) components[i] = S::Load(query + i * S::kLanes);
  for (int first = 0; first < count; first += 4) {
    typename S::F dots[4];
    for (int k = 0; k < 4; ++k) {
      typename S::F key[Head::kCount];
      Head::Load(reinterpret_cast<const T*>(keys[std::min(first + k, count - 1)] + offset), key);
      dots[k] = S::Mul(components[0], key[0]);
      for (int i = 1; i < Head::kCount; ++i) dots[k] = S::MulAdd(components[i], key[i], dots[k]);
    }
    S::Sum4(dots[0], dots[1], dots[2], dots[3], scores + first);
    for (int k = 0; k < 4; ++k) scores[first + k] *= scale;
  }
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

// output = output * correction + sum_j weights[j] V_j, all of a head; the output as HeadVectors keeps it.
template <typename S, typename T, int kWidth>
inline void AddValues(const std::byte* const* keys, int count, size_t offset, const float* weights, float correction,
                      float* output) {
  using Head = HeadVectors<S, T, kWidth>;
  typename S::F sums[Head::kCount];
  for (int i = 0; i < Head::kCount; ++i) sums[i] = S::Mul(S::Load(output + i * S::kLanes), S::Set(correction));
  for (int j = 0; j < count; ++j) {
    typename S::F value[Head::kCount];
    Head::Load(reinterpret_cast<const T*>(keys[j] + offset), value);
    const typename S::F weight = S::Set(weights[j]);
    for (int i = 0; i < Head::kCount; ++i) sums[i] = S::MulAdd(weight, value[i], sums[i]);
  }
  for (int i = 0; i < Head::kCount; ++i) S::Store(output + i * S::kLanes, sums[i]);
}

// Heads whose width is known when this is compiled.
template <typename S, typename T, int kWidth>
struct FixedHeads {
  explicit FixedHeads(const AttendTask& task) : task_(task) {
    for (int head = 0; head < task.heads; ++head) {
      for (int i = 0; i < kWidth; ++i) {
        query_[head][i] = task.query[head * kWidth + HeadVectors<S, T, kWidth>::ComponentAt(i)];
        output_[head][i] = 0;
      }
    }
  }
  int width() const { return kWidth; }
  void Score(const std::byte* const* keys, int count, int head, float scale, float* scores) const {
    ScoreBlock<S, T, kWidth>(keys, count, head * kWidth * sizeof(T), query_[head], scale, scores);
  }
  void Add(const std::byte* const* keys, int count, int head, const float* weights, float correction) {
    AddValues<S, T, kWidth>(keys, count, task_.value_offset + head * kWidth * sizeof(T), weights, correction,
                            output_[head]);
  }
  void Finish(int head, float factor) const {
    for (int i = 0; i < kWidth; ++i) {
      task_.output[head * kWidth + HeadVectors<S, T, kWidth>::ComponentAt(i)] = output_[head][i] * factor;
    }
  }

 private:
  const AttendTask& task_;
  alignas(64) float query_[kMostHeadsInTask][kWidth];
  alignas(64) float output_[kMostHeadsInTask][kWidth];
};

// Heads of any width, in order, gathered in the task's output.
template <typename S, typename T>
struct AnyHeads {
  explicit AnyHeads(const AttendTask& task) : task_(task) {
    std::fill_n(task.output, task.heads * task.head_width, 0.0f);
  }
  int width() const { return task_.head_width; }
  void Score(const std::byte* const* keys, int count, int head, float scale, float* scores) const {
    const int first = head * width();
    for (int j = 0; j < count; ++j) {
      const T* key = reinterpret_cast<const T*>(keys[j]) + first;
      typename S::F dot = S::Set(0);
      for (int c = 0; c < width(); c += S::kLanes) {
        dot = S::MulAdd(LoadUpTo<S>(task_.query + first + c, width() - c), LoadUpTo<S>(key + c, width() - c), dot);
      }
      scores[j] = S::Sum(dot) * scale;
    }
  }
  void Add(const std::byte* const* keys, int count, int head, const float* weights, float correction) {
    float* output = task_.output + head * width();
    for (int c = 0; c < width(); c += S::kLanes) {
      const int left = width() - c;
      typename S::F sum = S::Mul(LoadUpTo<S>(output + c, left), S::Set(correction));
      for (int j = 0; j < count; ++j) {
        const T* value = reinterpret_cast<const T*>(keys[j] + task_.value_offset) + head * width() + c;
        sum = S::MulAdd(S::Set(weights[j]), LoadUpTo<S>(value, left), sum);
      }
      StoreUpTo<S>(output + c, sum, left);
    }
  }
  void Finish(int head, float factor) const {
    for (int c = 0; c < width(); ++c) task_.output[head * width() + c] *= factor;
  }

 private:
  const AttendTask& task_;
};

// A key's scale of one head, at `offset` from its K.
inline float ScaleAt(const std::byte* key, size_t offset, int head) {
  return reinterpret_cast<const float*>(key + offset)[head];
}

template <typename S, typename T, typename Heads>
void AttendHeads(const AttendTask& task) {
  constexpr bool kScaled = sizeof(T) == 1;
  Heads heads(task);
  const int head_bytes = heads.width() * static_cast<int>(sizeof(T));
  const float scale = 1.44269504f / std::sqrt(static_cast<float>(heads.width()));
  alignas(64) float scores[kMostHeadsInTask][kKeyBlock];
  float largest[kMostHeadsInTask], sums[kMostHeadsInTask];
  std::fill_n(largest, task.heads, -std::numeric_limits<float>::infinity());
  std::fill_n(sums, task.heads, 0.0f);

  for (int first = 0; first < task.count; first += kKeyBlock) {
    const std::byte* const* keys = task.keys + first;
    const int count = std::min(kKeyBlock, task.count - first);
    const int next_count = std::min(kKeyBlock, task.count - first - count);
    for (int j = 0; j < count; j += kKeysAtOnce) {
      const int at_once = std::min(kKeysAtOnce, count - j);
      for (int head = 0; head < task.heads; ++head) {
        for (int k = 0; k < at_once; ++k) Prefetch(keys[j + k] + task.value_offset + head * head_bytes, head_bytes);
        heads.Score(keys + j, at_once, head, scale, scores[head] + j);
        for (int k = 0; kScaled && k < at_once; ++k) scores[head][j + k] *= ScaleAt(keys[j + k], task.key_scale, head);
      }
    }
    // Softmax of all heads before any of their values: its chains of dependent instructions then overlap.
    float corrections[kMostHeadsInTask];
    for (int head = 0; head < task.heads; ++head) {
      std::fill(scores[head] + count, scores[head] + kKeyBlock, -std::numeric_limits<float>::infinity());
      corrections[head] = SoftmaxBlock<S>(scores[head], largest[head], sums[head]);
    }
    for (int head = 0; head < task.heads; ++head) {
      for (int j = 0; j < next_count; ++j) Prefetch(keys[kKeyBlock + j] + head * head_bytes, head_bytes);
      for (int j = 0; kScaled && j < count; ++j) scores[head][j] *= ScaleAt(keys[j], task.value_scale, head);
      heads.Add(keys, count, head, scores[head], corrections[head]);
    }
    for (int j = 0; kScaled && j < next_count; ++j) Prefetch(keys[kKeyBlock + j] + task.key_scale, kCacheLine);
  }
  for (int head = 0; head < task.heads; ++head) heads.Finish(head, task.count == 0 ? 0.0f : 1.0f / sums[head]);
}

template <typename S, typename T>
void Attend(const AttendTask& task) {
  switch (task.head_width) {
    case 32:
      return AttendHeads<S, T, FixedHeads<S, T, 32>>(task);
    case 64:
      return AttendHeads<S, T, FixedHeads<S, T, 64>>(task);
    default:
      return AttendHeads<S, T, AnyHeads<S, T>>(task);
  }
}

}  // namespace salient

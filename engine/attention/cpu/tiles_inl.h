// Tiles in fp32, for one instruction set S (engine/base/simd_portable.h). A packed page is K transposed, [width][64],
// and V, [64][width rounded up to 16].

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/attention/cpu/tiles.h"
#include "engine/base/simd_math.h"

namespace salient {

inline constexpr int kMostTileWidth = 256;  // of a head

// Lanes, and with them vectors, are counted in the largest vector's, 16, so that packed pages look alike everywhere.
inline int PaddedWidth(int head_width) { return (head_width + 15) / 16 * 16; }

template <typename S>
bool TakesF32(int32_t head_width, ElementType type) {
  return head_width <= kMostTileWidth && type != ElementType::kInt8;
}

template <typename S>
size_t PackedBytesF32(int32_t head_width) {
  return sizeof(float) * kPagePositions * (head_width + PaddedWidth(head_width));
}

template <typename S>
inline float ToFloat(float x) {
  return x;
}
template <typename S>
inline float ToFloat(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename S, typename T>
void PackF32(const PackTask& task) {
  const int width = task.head_width, padded = PaddedWidth(width);
  float* keys = reinterpret_cast<float*>(task.packed);
  float* values = keys + width * kPagePositions;
  for (int j = 0; j < kPagePositions; ++j, values += padded) {
    if (j >= task.count) {  // weighed with zero, which only finite numbers survive
      for (int c = 0; c < width; ++c) keys[c * kPagePositions + j] = 0;
      std::fill_n(values, padded, 0.0f);
      continue;
    }
    const T* key = reinterpret_cast<const T*>(task.keys + j * task.row_bytes);
    const T* value = reinterpret_cast<const T*>(task.keys + j * task.row_bytes + task.value_offset);
    for (int c = 0; c < width; ++c) keys[c * kPagePositions + j] = ToFloat<S>(key[c]);
    for (int c = 0; c < width; ++c) values[c] = ToFloat<S>(value[c]);
    std::fill(values + width, values + padded, 0.0f);
  }
}

// What a tile's queries have gathered so far.
struct TileState {
  alignas(64) float scores[kTileQueries][kPagePositions];
  alignas(64) float output[kTileQueries][kMostTileWidth];
  float largest[kTileQueries], sum[kTileQueries];
};

// For each of four queries, as many vectors of sums as the instruction set has registers for.
template <typename S>
inline constexpr int kSumVectors = S::kLanes >= 16 ? 4 : 2;

// scores = scale * Q K^T of four queries.
template <typename S>
void ScoreFour(const float* const* queries, const float* keys, int width, float scale,
               float (*scores)[kPagePositions]) {
  constexpr int kVectors = kSumVectors<S>;
  for (int first = 0; first < kPagePositions; first += kVectors * S::kLanes) {
    typename S::F sums[4][kVectors];
    for (auto& row : sums) {
      for (auto& sum : row) sum = S::Set(0);
    }
    for (int c = 0; c < width; ++c) {
      typename S::F key[kVectors];
      for (int v = 0; v < kVectors; ++v) key[v] = S::Load(keys + c * kPagePositions + first + v * S::kLanes);
      for (int q = 0; q < 4; ++q) {
        const typename S::F component = S::Set(queries[q][c]);
        for (int v = 0; v < kVectors; ++v) sums[q][v] = S::MulAdd(component, key[v], sums[q][v]);
      }
    }
    for (int q = 0; q < 4; ++q) {
      for (int v = 0; v < kVectors; ++v) {
        S::Store(scores[q] + first + v * S::kLanes, S::Mul(sums[q][v], S::Set(scale)));
      }
    }
  }
}

// Turns a query's scores into weights, zero where the mask is, and scales what it has so far to the new maximum.
template <typename S>
void SoftmaxPage(float* scores, uint64_t mask, int width, float* output, float& largest, float& sum) {
  using F = typename S::F;
  constexpr uint64_t kLaneBits = (uint64_t{1} << S::kLanes) - 1;
  const F none = S::Set(-std::numeric_limits<float>::infinity());
  F block = none;
  for (int i = 0; i < kPagePositions; i += S::kLanes) {
    const F masked = S::Where(static_cast<uint32_t>(mask >> i & kLaneBits), S::Load(scores + i), none);
    S::Store(scores + i, masked);
    block = S::Max(block, masked);
  }
  const float before = largest;
  largest = std::max(before, S::Largest(block));
  F total = S::Set(0);
  for (int i = 0; i < kPagePositions; i += S::kLanes) {
    const F weight = Exp2<S>(S::Sub(S::Load(scores + i), S::Set(largest)));
    S::Store(scores + i, weight);
    total = S::Add(total, weight);
  }
  if (largest == before) {
    sum += S::Sum(total);
    return;
  }
  alignas(64) float correction[S::kLanes];
  S::Store(correction, Exp2<S>(S::Set(before - largest)));
  sum = sum * correction[0] + S::Sum(total);
  for (int c = 0; c < width; c += S::kLanes) S::Store(output + c, S::Mul(S::Load(output + c), S::Set(correction[0])));
}

// output += weights V of four queries, for kVectors vectors of the head from component c on. Their number is known to
// the compiler, which keeps the sums in memory otherwise.
template <typename S, int kVectors>
void AddVectors(const float (*weights)[kPagePositions], const float* values, int padded, int c,
                float (*output)[kMostTileWidth]) {
  typename S::F sums[4][kVectors];
  for (int q = 0; q < 4; ++q) {
    for (int v = 0; v < kVectors; ++v) sums[q][v] = S::Load(output[q] + c + v * S::kLanes);
  }
  for (int j = 0; j < kPagePositions; ++j) {
    const float* value = values + j * padded + c;
    for (int v = 0; v < kVectors; ++v) {
      const typename S::F lanes = S::Load(value + v * S::kLanes);
      for (int q = 0; q < 4; ++q) sums[q][v] = S::MulAdd(S::Set(weights[q][j]), lanes, sums[q][v]);
    }
  }
  for (int q = 0; q < 4; ++q) {
    for (int v = 0; v < kVectors; ++v) S::Store(output[q] + c + v * S::kLanes, sums[q][v]);
  }
}

template <typename S>
void AddFour(const float (*weights)[kPagePositions], const float* values, int padded, float (*output)[kMostTileWidth]) {
  constexpr int kMost = kSumVectors<S>;
  int c = 0;
  for (; c + kMost * S::kLanes <= padded; c += kMost * S::kLanes) {
    AddVectors<S, kMost>(weights, values, padded, c, output);
  }
  for (; c + 2 * S::kLanes <= padded; c += 2 * S::kLanes) AddVectors<S, 2>(weights, values, padded, c, output);
  for (; c < padded; c += S::kLanes) AddVectors<S, 1>(weights, values, padded, c, output);
}

// Queries first .. first + count - 1 of the group.
template <typename S>
void AttendTileF32(const TileTask& task, int first_query, int count) {
  const int width = task.head_width, padded = PaddedWidth(width);
  const float scale = 1.44269504f / std::sqrt(static_cast<float>(width));
  TileState state;
  for (int q = 0; q < (count + 3) / 4 * 4; ++q) {
    state.largest[q] = -std::numeric_limits<float>::infinity();
    state.sum[q] = 0;
    std::fill_n(state.output[q], padded, 0.0f);
  }
  for (int32_t page = 0; page < task.pages; ++page) {
    const uint64_t* masks = task.masks + static_cast<size_t>(page) * kGroupQueries + first_query;
    uint64_t any = 0;
    for (int q = 0; q < count; ++q) any |= masks[q];
    if (any == 0) continue;
    const float* keys = reinterpret_cast<const float*>(task.packed + task.places[page] * PackedBytesF32<S>(width));
    for (int first = 0; first < count; first += 4) {
      const float* queries[4];
      for (int q = 0; q < 4; ++q) {  // the last four are filled up with repetitions
        queries[q] = task.queries + static_cast<size_t>(first_query + std::min(first + q, count - 1)) * task.stride;
      }
      ScoreFour<S>(queries, keys, width, scale, state.scores + first);
      for (int q = first; q < std::min(first + 4, count); ++q) {
        if (masks[q] == 0) {
          std::fill_n(state.scores[q], kPagePositions, 0.0f);
        } else {
          SoftmaxPage<S>(state.scores[q], masks[q], padded, state.output[q], state.largest[q], state.sum[q]);
        }
      }
      AddFour<S>(state.scores + first, keys + width * kPagePositions, padded, state.output + first);
    }
  }
  for (int q = 0; q < count; ++q) {
    const float inverse = state.sum[q] == 0 ? 0.0f : 1.0f / state.sum[q];
    float* output = task.output + static_cast<size_t>(first_query + q) * task.stride;
    for (int c = 0; c < width; ++c) output[c] = state.output[q][c] * inverse;
  }
}

template <typename S>
void AttendGroupF32(const TileTask& task) {
  for (int first = 0; first < task.count; first += kTileQueries) {
    AttendTileF32<S>(task, first, std::min(kTileQueries, task.count - first));
  }
}

template <typename S>
constexpr TileKernels TileTableF32(double least_density) {
  return {.takes = TakesF32<S>,
          .packed_bytes = PackedBytesF32<S>,
          .pack_f32 = PackF32<S, float>,
          .pack_bf16 = PackF32<S, uint16_t>,
          .attend = AttendGroupF32<S>,
          .least_density = least_density};
}

}  // namespace salient

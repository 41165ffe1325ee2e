// The loops of roofs.h that are the same for every width of vectors: templates over the `Simd` of engine/base.

#pragma once

#include "benchmarks/operations/roofs.h"

namespace salient::benchmarks {
namespace {

// More sums than multiply-adds can be in flight: latency times number of units is at most 10.
constexpr int kSums = 12;

// Hides the contents of a register from the compiler, so that it does not remove work.
template <typename V>
inline void Opaque(V& v) {
  asm volatile("" : "+v"(v));
}

// Reads each value once, in eight independent streams.
template <typename Simd>
float ReadAll(const float* values, int64_t count) {
  constexpr int kStreams = 8;
  typename Simd::F maxima[kStreams];
  for (auto& maximum : maxima) maximum = Simd::Set(0);
  for (int64_t i = 0; i + kStreams * Simd::kLanes <= count; i += kStreams * Simd::kLanes) {
    for (int s = 0; s < kStreams; ++s) maxima[s] = Simd::Max(maxima[s], Simd::Load(values + i + s * Simd::kLanes));
  }
  for (int s = 1; s < kStreams; ++s) maxima[0] = Simd::Max(maxima[0], maxima[s]);
  return Simd::Sum(maxima[0]);
}

}  // namespace
}  // namespace salient::benchmarks

#include <immintrin.h>

#include "benchmarks/operations/roofs_inl.h"
#include "engine/base/simd_avx512.h"

namespace salient::benchmarks {
namespace {

void MultiplyFloats(int64_t rounds) {
  __m512 sums[kSums] = {}, factor = _mm512_set1_ps(0.5f);
  for (int64_t round = 0; round < rounds; ++round) {
    Opaque(factor);
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(factor, factor, sum);
      Opaque(sum);
    }
  }
}

void MultiplyBytes(int64_t rounds) {
  __m512i sums[kSums] = {}, factor = _mm512_set1_epi8(3);
  for (int64_t round = 0; round < rounds; ++round) {
    Opaque(factor);
    for (__m512i& sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, factor, factor);
      Opaque(sum);
    }
  }
}

constexpr PeakLoop kFloats = {MultiplyFloats, 2.0 * 16 * kSums};
constexpr PeakLoop kBytes = {MultiplyBytes, 2.0 * 64 * kSums};

}  // namespace

const RoofLoops kRoofsAvx512 = {
    .f32 = kFloats, .bf16 = kFloats, .int8 = kBytes, .int8_vectors = kBytes, .read = ReadAll<Simd>};

}  // namespace salient::benchmarks

#include <immintrin.h>

#include "benchmarks/operations/roofs_inl.h"
#include "engine/base/simd_avx2.h"

namespace salient::benchmarks {
namespace {

void MultiplyFloats(int64_t rounds) {
  __m256 sums[kSums] = {}, factor = _mm256_set1_ps(0.5f);
  for (int64_t round = 0; round < rounds; ++round) {
    Opaque(factor);
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(factor, factor, sum);
      Opaque(sum);
    }
  }
}

// Replaces one vpdpbusd: two products to 16 bits, two sums to 32 bits.
void MultiplyBytes(int64_t rounds) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[kSums] = {}, factor = _mm256_set1_epi8(3);
  for (int64_t round = 0; round < rounds; ++round) {
    for (__m256i& sum : sums) {
      Opaque(factor);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(factor, factor), ones));
      Opaque(sum);
    }
  }
}

constexpr PeakLoop kFloats = {MultiplyFloats, 2.0 * 8 * kSums};
constexpr PeakLoop kBytes = {MultiplyBytes, 2.0 * 32 * kSums};

}  // namespace

const RoofLoops kRoofsAvx2 = {
    .f32 = kFloats, .bf16 = kFloats, .int8 = kBytes, .int8_vectors = kBytes, .read = ReadAll<Simd>};

}  // namespace salient::benchmarks

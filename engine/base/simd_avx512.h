// Vectors of floats with AVX-512; see simd_portable.h.

#pragma once

#include <immintrin.h>

#include <cstdint>

namespace salient {
namespace {

struct Simd {
  static constexpr int kLanes = 16;
  using F = __m512;

  static F Set(float x) { return _mm512_set1_ps(x); }
  static F Load(const float* p) { return _mm512_loadu_ps(p); }
  static F Load(const uint16_t* p) { return Widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static F Load(const int8_t* p) { return Widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static void LoadPairs(const uint16_t* p, F* even, F* odd) {
    const __m512i pairs = _mm512_loadu_si512(p);
    *even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    *odd = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000))));
  }
  static F LoadPart(const float* p, int n) { return _mm512_maskz_loadu_ps(First(n), p); }
  static F LoadPart(const uint16_t* p, int n) { return Widen(_mm256_maskz_loadu_epi16(First(n), p)); }
  static F LoadPart(const int8_t* p, int n) { return Widen(_mm_maskz_loadu_epi8(First(n), p)); }
  static void Store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static void StorePart(float* p, F a, int n) { _mm512_mask_storeu_ps(p, First(n), a); }

  static F Add(F a, F b) { return _mm512_add_ps(a, b); }
  static F Sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F Mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F MulAdd(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F Max(F a, F b) { return _mm512_max_ps(a, b); }
  static float Sum(F a) { return _mm512_reduce_add_ps(a); }
  static void Sum4(F a, F b, F c, F d, float* sums) {
    // Within each quarter: a02 b02 a13 b13 and the like, then a b c d.
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
    const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
    const __m512 quarters = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
    const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(quarters), _mm512_extractf32x8_ps(quarters, 1));
    _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1)));
  }
  static float Largest(F a) { return _mm512_reduce_max_ps(a); }
  static uint32_t Above(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static F Round(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F Scale(F a, F n) { return _mm512_scalef_ps(a, n); }
  static F Where(uint32_t bits, F a, F b) { return _mm512_mask_blend_ps(static_cast<__mmask16>(bits), b, a); }
  static F ZeroBelow(F a, F x, F bound) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, bound, _CMP_NLT_UQ), a); }

 private:
  static __mmask16 First(int n) { return static_cast<__mmask16>((1u << n) - 1); }
  static F Widen(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)); }
  static F Widen(__m256i half) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16)); }
};

}  // namespace
}  // namespace salient

// Attention's kernels with AVX2 and FMA.

#include <immintrin.h>

#include <cstdint>

#include "engine/attention/cpu/attend_inl.h"
#include "engine/attention/cpu/kernels.h"
#include "engine/attention/cpu/select_inl.h"
#include "engine/base/simd_avx2.h"

namespace salient {
namespace {

// Four keys at a time, widened to int16: maddubs would add two products in 16 bits, and 2 * 255 * 127 overflows those.
void Score(const int8_t* keys, int32_t blocks, const SelectionQuery& query, int32_t* scores) {
  for (int32_t block = 0; block < blocks; ++block) {
    __m256i sums[4] = {};  // sums[i]: keys 4 i .. 4 i + 3, two partial sums each
    for (int32_t c = 0; c < query.width; c += 4, keys += 4 * kSelectionBlock) {
      int32_t four;
      __builtin_memcpy(&four, query.components + c, 4);
      const __m256i components = _mm256_cvtepi8_epi16(_mm_set1_epi32(four));
      for (int i = 0; i < 4; ++i) {
        const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(keys + 16 * i));
        sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), components));
      }
    }
    for (int i = 0; i < 4; i += 2) {
      // hadd works within halves: the keys 0 1 | 2 3 and 4 5 | 6 7 come out as 0 1 4 5 | 2 3 6 7.
      const __m256i mixed = _mm256_hadd_epi32(sums[i], sums[i + 1]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(scores + block * kSelectionBlock + 4 * i),
                          _mm256_permute4x64_epi64(mixed, _MM_SHUFFLE(3, 1, 2, 0)));
    }
  }
}

inline float ClampToInt8(float x) {
  const float most = x < 127.0f ? x : 127.0f;  // a NaN becomes 127, as in QuantiseComponent
  return most > -127.0f ? most : -127.0f;
}

int32_t Quantise(const float* x, int32_t n, float factor, int8_t* out) {
  int32_t sum = 0;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t value = _mm_cvtss_si32(_mm_set_ss(ClampToInt8(x[i] * factor)));  // half to even
    out[i] = static_cast<int8_t>(value);
    sum += value;
  }
  return sum;
}

int32_t ListAbove(const int32_t* scores, int32_t n, int32_t threshold, int32_t ties, int32_t* indices) {
  const __m256i bound = _mm256_set1_epi32(threshold);
  int32_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scores + i));
    const __m256 is_below = _mm256_castsi256_ps(_mm256_cmpgt_epi32(bound, eight));
    const uint32_t below = static_cast<uint32_t>(_mm256_movemask_ps(is_below));
    for (uint32_t bits = ~below & 0xff; bits != 0; bits &= bits - 1) {
      const int32_t index = i + __builtin_ctz(bits);
      if (scores[index] == threshold && ties-- <= 0) continue;
      indices[count++] = index;
    }
  }
  for (; i < n; ++i) {
    if (scores[i] < threshold || (scores[i] == threshold && ties-- <= 0)) continue;
    indices[count++] = i;
  }
  return count;
}

void ToBF16(const float* x, int32_t n, uint16_t* out) {
  const auto convert = [](float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, 4);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>(value != value ? bits >> 16 | 0x40 : rounded);
  };
  for (int32_t i = 0; i < n; ++i) out[i] = convert(x[i]);
}

}  // namespace

const AttentionKernels kAttentionAvx2 = {
    .select = {.score = Score,
               .largest = Largest<Simd>,
               .quantise = Quantise,
               .range = Range<Simd>,
               .between = Between<Simd>,
               .count_above = CountAbove<Simd>,
               .mass_above = MassAbove<Simd>,
               .list_above = ListAbove},
    .attend = {.attend_f32 = Attend<Simd, float>,
               .attend_bf16 = Attend<Simd, uint16_t>,
               .attend_int8 = Attend<Simd, int8_t>,
               .to_bf16 = ToBF16},
};

}  // namespace salient

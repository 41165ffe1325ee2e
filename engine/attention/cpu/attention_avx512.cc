// Attention's kernels with AVX-512 (F, BW, DQ, VL, VNNI).

#include <immintrin.h>

#include <cstdint>

#include "engine/attention/cpu/attend_inl.h"
#include "engine/attention/cpu/kernels.h"
#include "engine/attention/cpu/select_inl.h"
#include "engine/base/simd_avx512.h"

namespace salient {
namespace {

// dpbusd needs unsigned bytes in one operand. Keys become unsigned by flipping their top bit, which adds 128: <query,
// key> = <query, key + 128> - 128 * sum(query).
template <int kBlocks>
inline void ScoreBlocks(const int8_t* keys, const SelectionQuery& query, int32_t* scores) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  const int32_t block_bytes = kSelectionBlock * query.width;
  __m512i sums[kBlocks];
  for (int b = 0; b < kBlocks; ++b) sums[b] = _mm512_set1_epi32(-128 * query.sum);
  for (int32_t c = 0; c < query.width; c += 4) {
    int32_t four;
    __builtin_memcpy(&four, query.components + c, 4);
    const __m512i components = _mm512_set1_epi32(four);
    for (int b = 0; b < kBlocks; ++b) {
      const __m512i bytes = _mm512_load_si512(keys + b * block_bytes + c * kSelectionBlock);
      sums[b] = _mm512_dpbusd_epi32(sums[b], _mm512_xor_si512(bytes, flip), components);
    }
  }
  for (int b = 0; b < kBlocks; ++b) _mm512_storeu_si512(scores + b * kSelectionBlock, sums[b]);
}

void Score(const int8_t* keys, int32_t blocks, const SelectionQuery& query, int32_t* scores) {
  constexpr int kPageBlocks = kPagePositions / kSelectionBlock;
  int32_t block = 0;
  for (; block + kPageBlocks <= blocks; block += kPageBlocks) {
    ScoreBlocks<kPageBlocks>(keys + block * kSelectionBlock * query.width, query, scores + block * kSelectionBlock);
  }
  for (; block < blocks; ++block) {
    ScoreBlocks<1>(keys + block * kSelectionBlock * query.width, query, scores + block * kSelectionBlock);
  }
}

inline __mmask16 First(int32_t n) { return n >= 16 ? 0xffff : static_cast<__mmask16>((1u << n) - 1); }

float LargestComponent(const float* x, int32_t n) {
  __m512 largest = _mm512_setzero_ps();
  // max returns its second operand if one is NaN. So NaN is ignored, as in Largest.
  for (int32_t i = 0; i < n; i += 16) {
    largest = _mm512_max_ps(_mm512_abs_ps(_mm512_maskz_loadu_ps(First(n - i), x + i)), largest);
  }
  return _mm512_reduce_max_ps(largest);
}

int32_t Quantise(const float* x, int32_t n, float factor, int8_t* out) {
  const __m512 most = _mm512_set1_ps(127.0f), least = _mm512_set1_ps(-127.0f);
  __m512i sum = _mm512_setzero_si512();
  for (int32_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = First(n - i);
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + i), _mm512_set1_ps(factor));
    // min and max return their second operand if one is NaN. So NaN becomes 127, as in QuantiseComponent.
    const __m512i value = _mm512_cvtps_epi32(_mm512_max_ps(_mm512_min_ps(scaled, most), least));
    sum = _mm512_mask_add_epi32(sum, lanes, sum, value);
    _mm_mask_storeu_epi8(out + i, lanes, _mm512_cvtepi32_epi8(value));
  }
  return _mm512_reduce_add_epi32(sum);
}

// Stores the lanes that are kept, one after the other. If `room` allows, this also writes lanes after them, which is
// faster than a masked store.
inline void StoreKept(__mmask16 kept, __m512i lanes, int32_t room, int32_t* out) {
  if (room >= 16) {
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(kept, lanes));
  } else {
    _mm512_mask_compressstoreu_epi32(out, kept, lanes);
  }
}

int32_t CountAboveThreshold(const int32_t* scores, int32_t n, int32_t threshold) {
  const __m512i bound = _mm512_set1_epi32(threshold), one = _mm512_set1_epi32(1);
  __m512i counts = _mm512_setzero_si512(), more = counts;
  int32_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __mmask16 first = _mm512_cmpgt_epi32_mask(_mm512_loadu_si512(scores + i), bound);
    const __mmask16 second = _mm512_cmpgt_epi32_mask(_mm512_loadu_si512(scores + i + 16), bound);
    counts = _mm512_mask_add_epi32(counts, first, counts, one);
    more = _mm512_mask_add_epi32(more, second, more, one);
  }
  for (; i < n; i += 16) {
    const __mmask16 lanes = First(n - i);
    const __mmask16 above = _mm512_mask_cmpgt_epi32_mask(lanes, _mm512_maskz_loadu_epi32(lanes, scores + i), bound);
    counts = _mm512_mask_add_epi32(counts, above, counts, one);
  }
  return _mm512_reduce_add_epi32(_mm512_add_epi32(counts, more));
}

int32_t Between(const int32_t* scores, int32_t n, int32_t low, int32_t high, int32_t* out) {
  const __m512i above = _mm512_set1_epi32(low), most = _mm512_set1_epi32(high);
  int32_t count = 0;
  for (int32_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = First(n - i);
    const __m512i sixteen = _mm512_maskz_loadu_epi32(lanes, scores + i);
    const __mmask16 kept =
        _mm512_mask_cmple_epi32_mask(_mm512_mask_cmpgt_epi32_mask(lanes, sixteen, above), sixteen, most);
    StoreKept(kept, sixteen, n - i, out + count);
    count += __builtin_popcount(kept);
  }
  return count;
}

// The lowest n set bits.
inline __mmask16 LowestBits(__mmask16 bits, int32_t n) {
  return n >= 16 ? bits : static_cast<__mmask16>(_pdep_u32((1u << n) - 1, bits));
}

int32_t ListAbove(const int32_t* scores, int32_t n, int32_t threshold, int32_t ties, int32_t* indices) {
  const __m512i bound = _mm512_set1_epi32(threshold), step = _mm512_set1_epi32(16);
  __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  int32_t count = 0;
  for (int32_t i = 0; i < n; i += 16, index = _mm512_add_epi32(index, step)) {
    const __mmask16 lanes = First(n - i);
    const __m512i sixteen = _mm512_maskz_loadu_epi32(lanes, scores + i);
    __mmask16 kept = _mm512_mask_cmpgt_epi32_mask(lanes, sixteen, bound);
    if (ties > 0) {
      const __mmask16 equal = LowestBits(_mm512_mask_cmpeq_epi32_mask(lanes, sixteen, bound), ties);
      ties -= __builtin_popcount(equal);
      kept |= equal;
    }
    StoreKept(kept, index, n - i, indices + count);  // room for n - i more, because count <= i
    count += __builtin_popcount(kept);
  }
  return count;
}

void ToBF16(const float* x, int32_t n, uint16_t* out) {
  const __m512i half = _mm512_set1_epi32(0x7fff), one = _mm512_set1_epi32(1), quiet = _mm512_set1_epi32(0x40);
  for (int32_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = First(n - i);
    const __m512 value = _mm512_maskz_loadu_ps(lanes, x + i);
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i upper = _mm512_srli_epi32(bits, 16);
    const __m512i bias = _mm512_add_epi32(half, _mm512_and_si512(upper, one));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i result = _mm512_mask_or_epi32(rounded, is_nan, upper, quiet);
    _mm256_mask_storeu_epi16(out + i, lanes, _mm512_cvtepi32_epi16(result));
  }
}

}  // namespace

const AttentionKernels kAttentionAvx512 = {
    .select = {.score = Score,
               .largest = LargestComponent,
               .quantise = Quantise,
               .range = Range<Simd>,
               .between = Between,
               .count_above = CountAboveThreshold,
               .mass_above = MassAbove<Simd>,
               .list_above = ListAbove},
    .attend = {.attend_f32 = Attend<Simd, float>,
               .attend_bf16 = Attend<Simd, uint16_t>,
               .attend_int8 = Attend<Simd, int8_t>,
               .to_bf16 = ToBF16},
};

}  // namespace salient

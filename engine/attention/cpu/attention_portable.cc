// Attention's kernels without any particular instruction set.

#include <cstdint>

#include "engine/attention/cpu/attend_inl.h"
#include "engine/attention/cpu/kernels.h"
#include "engine/attention/cpu/select_inl.h"
#include "engine/attention/select_rules.h"
#include "engine/base/simd_portable.h"
#include "engine/core/bf16.h"

namespace salient {
namespace {

void Score(const int8_t* keys, int32_t blocks, const SelectionQuery& query, int32_t* scores) {
  for (int32_t block = 0; block < blocks; ++block) {
    int32_t sums[kSelectionBlock] = {};
    for (int32_t c = 0; c < query.width; c += 4, keys += 4 * kSelectionBlock) {
      for (int32_t key = 0; key < kSelectionBlock; ++key) {
        for (int32_t k = 0; k < 4; ++k) sums[key] += query.components[c + k] * keys[4 * key + k];
      }
    }
    for (int32_t key = 0; key < kSelectionBlock; ++key) scores[block * kSelectionBlock + key] = sums[key];
  }
}

int32_t Quantise(const float* x, int32_t n, float factor, int8_t* out) {
  int32_t sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += out[i] = QuantiseComponent(x[i], factor);
  return sum;
}

int32_t ListAbove(const int32_t* scores, int32_t n, int32_t threshold, int32_t ties, int32_t* indices) {
  int32_t count = 0;
  for (int32_t i = 0; i < n; ++i) {
    if (scores[i] < threshold || (scores[i] == threshold && ties-- <= 0)) continue;
    indices[count++] = i;
  }
  return count;
}

void ToBF16(const float* x, int32_t n, uint16_t* out) {
  for (int32_t i = 0; i < n; ++i) out[i] = FloatToBF16(x[i]);
}

}  // namespace

const AttentionKernels kAttentionPortable = {
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

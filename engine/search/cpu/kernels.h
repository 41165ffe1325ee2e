// The inner loops over a row of logits, one table of them for each instruction set.

#pragma once

#include <cstdint>

#include "engine/base/cpu_features.h"
#include "engine/search/candidates.h"

namespace salient {

struct SearchKernels {
  float (*largest)(const float* logits, int32_t n);
  // sum exp(logits - largest)
  float (*sum_exp)(const float* logits, int32_t n, float largest);
  // The `width` best tokens that a row takes or has a stand-in for, best first, ties to the lower token;
  // log_probability holds the logit. Returns how many there are.
  int32_t (*best)(const float* logits, int32_t n, const TokenConstraint& constraint, const SpecialTokens& special,
                  int32_t width, Candidate* candidates);
};

const SearchKernels& SearchKernelsFor(CpuIsa isa);

extern const SearchKernels kSearchPortable, kSearchAvx2, kSearchAvx512;

}  // namespace salient

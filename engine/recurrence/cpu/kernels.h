// The recurrence of one row, one table for each instruction set.

#pragma once

#include <cstdint>

#include "engine/base/cpu_features.h"

namespace salient {

struct RecurrenceKernels {
  // input: [2 * width] W x and W_f x + b_f; before: null for zeros; output is added to.
  void (*ssru)(const float* input, const float* before, int32_t width, float* after, float* output);
};

const RecurrenceKernels& RecurrenceKernelsFor(CpuIsa isa);

extern const RecurrenceKernels kRecurrencePortable, kRecurrenceAvx2, kRecurrenceAvx512;

}  // namespace salient

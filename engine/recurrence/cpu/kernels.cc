#include "engine/recurrence/cpu/kernels.h"

namespace salient {

const RecurrenceKernels& RecurrenceKernelsFor(CpuIsa isa) {
#if defined(__x86_64__)
  if (isa >= CpuIsa::kAvx512) return kRecurrenceAvx512;
  if (isa >= CpuIsa::kAvx2) return kRecurrenceAvx2;
#endif
  static_cast<void>(isa);
  return kRecurrencePortable;
}

}  // namespace salient

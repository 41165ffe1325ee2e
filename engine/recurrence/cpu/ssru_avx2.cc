// The kernels of engine/recurrence with AVX2 and FMA.

#include "engine/base/simd_avx2.h"
#include "engine/recurrence/cpu/ssru_inl.h"

namespace salient {

const RecurrenceKernels kRecurrenceAvx2 = RecurrenceTable<Simd>();

}  // namespace salient

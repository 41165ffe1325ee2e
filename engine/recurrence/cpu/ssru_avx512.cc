// The kernels of engine/recurrence with AVX-512.

#include "engine/base/simd_avx512.h"
#include "engine/recurrence/cpu/ssru_inl.h"

namespace salient {

const RecurrenceKernels kRecurrenceAvx512 = RecurrenceTable<Simd>();

}  // namespace salient

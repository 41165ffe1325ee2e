// The kernels of engine/recurrence without any particular instruction set.

#include "engine/base/simd_portable.h"
#include "engine/recurrence/cpu/ssru_inl.h"

namespace salient {

const RecurrenceKernels kRecurrencePortable = RecurrenceTable<Simd>();

}  // namespace salient

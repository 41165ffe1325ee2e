// The kernels of engine/norm without any particular instruction set.

#include "engine/base/simd_portable.h"
#include "engine/norm/cpu/norm_inl.h"

namespace salient {

const NormKernels kNormPortable = NormTable<Simd>();

}  // namespace salient

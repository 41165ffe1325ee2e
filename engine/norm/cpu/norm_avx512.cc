// The kernels of engine/norm with AVX-512.

#include "engine/base/simd_avx512.h"
#include "engine/norm/cpu/norm_inl.h"

namespace salient {

const NormKernels kNormAvx512 = NormTable<Simd>();

}  // namespace salient

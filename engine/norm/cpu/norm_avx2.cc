// The kernels of engine/norm with AVX2 and FMA.

#include "engine/base/simd_avx2.h"
#include "engine/norm/cpu/norm_inl.h"

namespace salient {

const NormKernels kNormAvx2 = NormTable<Simd>();

}  // namespace salient

// Tiles in fp32 with AVX-512.

#include "engine/attention/cpu/tiles_inl.h"
#include "engine/base/simd_avx512.h"

namespace salient {

const TileKernels kTilesAvx512 = TileTableF32<Simd>(0.35);

}  // namespace salient

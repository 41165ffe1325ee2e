// Tiles in fp32 with AVX2 and FMA.

#include "engine/attention/cpu/tiles_inl.h"
#include "engine/base/simd_avx2.h"

namespace salient {

const TileKernels kTilesAvx2 = TileTableF32<Simd>(0.45);

}  // namespace salient

// Tiles in fp32 without any particular instruction set.

#include "engine/attention/cpu/tiles_inl.h"
#include "engine/base/simd_portable.h"

namespace salient {

const TileKernels kTilesPortable = TileTableF32<Simd>(0.9);

}  // namespace salient

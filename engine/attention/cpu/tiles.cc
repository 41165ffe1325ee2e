#include "engine/attention/cpu/tiles.h"

namespace salient {

const TileKernels& TileKernelsFor(CpuIsa isa, int32_t head_width, ElementType type) {
#if defined(__x86_64__)
  if (isa >= CpuIsa::kAmx && kTilesAmx.takes(head_width, type)) return kTilesAmx;
  if (isa >= CpuIsa::kAvx512) return kTilesAvx512;
  if (isa >= CpuIsa::kAvx2) return kTilesAvx2;
#endif
  static_cast<void>(isa);
  static_cast<void>(head_width);
  static_cast<void>(type);
  return kTilesPortable;
}

}  // namespace salient

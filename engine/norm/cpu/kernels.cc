#include "engine/norm/cpu/kernels.h"

namespace salient {

const NormKernels& NormKernelsFor(CpuIsa isa) {
#if defined(__x86_64__)
  if (isa >= CpuIsa::kAvx512) return kNormAvx512;
  if (isa >= CpuIsa::kAvx2) return kNormAvx2;
#endif
  static_cast<void>(isa);
  return kNormPortable;
}

}  // namespace salient

#include "engine/search/cpu/kernels.h"

namespace salient {

const SearchKernels& SearchKernelsFor(CpuIsa isa) {
#if defined(__x86_64__)
  if (isa >= CpuIsa::kAvx512) return kSearchAvx512;
  if (isa >= CpuIsa::kAvx2) return kSearchAvx2;
#endif
  static_cast<void>(isa);
  return kSearchPortable;
}

}  // namespace salient

#include "engine/attention/cpu/kernels.h"

namespace salient {

const AttentionKernels& AttentionKernelsFor(CpuIsa isa) {
#if defined(__x86_64__)
  if (isa >= CpuIsa::kAvx512) return kAttentionAvx512;
  if (isa >= CpuIsa::kAvx2) return kAttentionAvx2;
#endif
  static_cast<void>(isa);
  return kAttentionPortable;
}

ScoreManyKernel ScoreManyKernelFor(CpuIsa isa) {
#if defined(__x86_64__)
  if (isa >= CpuIsa::kAmx) return ScoreManyAmx;
#endif
  static_cast<void>(isa);
  return nullptr;
}

}  // namespace salient

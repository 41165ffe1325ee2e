#include "benchmarks/operations/roofs_inl.h"
#include "engine/base/simd_portable.h"

namespace salient::benchmarks {

const RoofLoops kRoofsPortable = {.read = ReadAll<Simd>};

RoofLoops RoofLoopsFor(CpuIsa isa) {
#if defined(__x86_64__)
  if (isa >= CpuIsa::kAvx512) {
    RoofLoops loops = kRoofsAvx512;
    if (isa >= CpuIsa::kAmx) {
      loops.int8 = kTilesInt8;
      loops.bf16 = kTilesBf16;
    }
    return loops;
  }
  if (isa >= CpuIsa::kAvx2) return kRoofsAvx2;
#else
  (void)isa;
#endif
  return kRoofsPortable;
}

}  // namespace salient::benchmarks

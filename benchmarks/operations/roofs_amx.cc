// Tiles 0-3 accumulate, 4 and 5 hold one operand, 6 and 7 the other, as in the matrix products of engine/linear.

#include "benchmarks/operations/roofs.h"
#include "engine/base/amx_tiles.h"

namespace salient::benchmarks {
namespace {

void Configure() {
  const TileConfig config;
  asm volatile("ldtilecfg %0" : : "m"(config));
}

void MultiplyBytes(int64_t rounds) {
  Configure();
  for (int64_t round = 0; round < rounds; ++round) {
    asm volatile("tdpbssd %tmm6, %tmm4, %tmm0");
    asm volatile("tdpbssd %tmm7, %tmm4, %tmm1");
    asm volatile("tdpbssd %tmm6, %tmm5, %tmm2");
    asm volatile("tdpbssd %tmm7, %tmm5, %tmm3");
  }
  asm volatile("tilerelease");
}

void MultiplyBf16(int64_t rounds) {
  Configure();
  for (int64_t round = 0; round < rounds; ++round) {
    asm volatile("tdpbf16ps %tmm6, %tmm4, %tmm0");
    asm volatile("tdpbf16ps %tmm7, %tmm4, %tmm1");
    asm volatile("tdpbf16ps %tmm6, %tmm5, %tmm2");
    asm volatile("tdpbf16ps %tmm7, %tmm5, %tmm3");
  }
  asm volatile("tilerelease");
}

}  // namespace

const PeakLoop kTilesInt8 = {MultiplyBytes, 4.0 * 2 * 16 * 16 * 64};
const PeakLoop kTilesBf16 = {MultiplyBf16, 4.0 * 2 * 16 * 16 * 32};

}  // namespace salient::benchmarks

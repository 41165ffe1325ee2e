#include "engine/base/cpu_features.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace salient {
namespace {

#if defined(__x86_64__)

// Linux keeps the tiles' state only for processes that ask for it.
bool RequestAmxFromKernel() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuIsa MachineIsa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return CpuIsa::kScalar;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512vnni")) {
    return CpuIsa::kAvx2;
  }
  if (!__builtin_cpu_supports("amx-tile") || !__builtin_cpu_supports("amx-int8") ||
      !__builtin_cpu_supports("amx-bf16") || !RequestAmxFromKernel()) {
    return CpuIsa::kAvx512;
  }
  return CpuIsa::kAmx;
}

#else

CpuIsa MachineIsa() { return CpuIsa::kScalar; }

#endif

}  // namespace

const char* CpuIsaName(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kScalar:
      return "scalar";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvx512:
      return "avx512";
    case CpuIsa::kAmx:
      return "amx";
  }
  return "unknown";
}

CpuIsa DetectCpuIsa() {
  static const CpuIsa machine = MachineIsa();
  const char* wanted = std::getenv("SALIENT_CPU_ISA");
  if (wanted == nullptr) return machine;
  for (CpuIsa isa : {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx}) {
    if (std::strcmp(wanted, CpuIsaName(isa)) == 0) return std::min(isa, machine);
  }
  return machine;
}

}  // namespace salient

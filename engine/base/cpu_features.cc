#include "engine/base/cpu_features.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace salient {
namespace {

#if defined(__x86_64__)

// Linux keeps the tiles' state only for processes that ask for it.
bool RequestAmxFromKernel() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// AMX, and the vector instructions that its kernels use besides. Asked of the processor itself, because not every
// compiler's __builtin_cpu_supports knows them.
bool ProcessorHasAmx() {
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25, kBF16 = 1u << 22;  // of leaf 7, in edx
  constexpr unsigned kVectorBytes = 1u << 1;                                // AVX512_VBMI, of leaf 7, in ecx
  constexpr unsigned kVectorBF16 = 1u << 5;                                 // of leaf 7.1, in eax
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((edx & kTile) == 0 || (edx & kInt8) == 0 || (edx & kBF16) == 0 || (ecx & kVectorBytes) == 0) return false;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kVectorBF16) != 0;
}

CpuIsa MachineIsa() {
  __builtin_cpu_init();
  // All that cmake/salient.cmake compiles these kernels for. Every processor with AVX2 has the others, but a virtual
  // machine may hide them.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt")) {
    return CpuIsa::kScalar;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512vnni")) {
    return CpuIsa::kAvx2;
  }
  return ProcessorHasAmx() && RequestAmxFromKernel() ? CpuIsa::kAmx : CpuIsa::kAvx512;
}

#else

CpuIsa MachineIsa() { return CpuIsa::kScalar; }

#endif

CpuIsa Machine() {
  static const CpuIsa machine = MachineIsa();
  return machine;
}

std::atomic<CpuIsa>& Level() {
  static std::atomic<CpuIsa> level{LoweredCpuIsa(Machine(), std::getenv("SALIENT_CPU_ISA"))};
  return level;
}

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

CpuIsa LoweredCpuIsa(CpuIsa machine, const char* wanted) {
  if (wanted == nullptr) return machine;
  for (CpuIsa isa : {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx}) {
    if (std::strcmp(wanted, CpuIsaName(isa)) == 0) return std::min(isa, machine);
  }
  return machine;
}

CpuIsa DetectCpuIsa() { return Level().load(std::memory_order_relaxed); }

CpuIsa SetCpuIsa(CpuIsa isa) { return Level().exchange(std::min(isa, Machine())); }

}  // namespace salient

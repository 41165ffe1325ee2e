// Detects at run time which instruction sets the CPU kernels may use.
//
// Each level includes the lower ones. The environment variable SALIENT_CPU_ISA=scalar|avx2|avx512|amx lowers the level,
// to compare kernels on one machine. It cannot raise it above the level of the machine.

#pragma once

namespace salient {

enum class CpuIsa {
  kScalar,
  kAvx2,    // AVX2 and FMA
  kAvx512,  // AVX-512 F, BW, DQ, VL and VNNI
  kAmx,     // AMX tiles for int8 and bf16, allowed by the operating system for this process, and AVX-512 BF16
};

// The level of this machine, lowered by the environment variable. The first call reads the variable. Thread safe.
CpuIsa DetectCpuIsa();

// Sets the level that DetectCpuIsa returns, at most the level of the machine; returns the previous level. For tests and
// benchmarks that compare levels in one process. Must not be called while kernels run.
CpuIsa SetCpuIsa(CpuIsa isa);

// The level that a value of SALIENT_CPU_ISA names, at most `machine`. `machine` if `wanted` is null or names no level.
CpuIsa LoweredCpuIsa(CpuIsa machine, const char* wanted);

// "scalar", "avx2", "avx512", "amx": the values of SALIENT_CPU_ISA.
const char* CpuIsaName(CpuIsa isa);

}  // namespace salient

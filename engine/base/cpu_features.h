// Which instruction sets the CPU kernels may use, found out when the program runs.
//
// Levels include those below them. SALIENT_CPU_ISA=scalar|avx2|avx512|amx in the environment lowers the level, to
// compare kernels on one machine; it cannot raise it above what the machine has.

#pragma once

namespace salient {

enum class CpuIsa {
  kScalar,
  kAvx2,    // AVX2 and FMA
  kAvx512,  // AVX-512 F, BW, DQ, VL and VNNI
  kAmx,     // AMX tiles for int8 and bf16, allowed by the operating system for this process, and AVX-512 BF16
};

// What this machine has, lowered by the environment, which is read at the first call. Thread safe.
CpuIsa DetectCpuIsa();

// Sets what DetectCpuIsa returns from now on, as far as the machine has it; returns what it was. For tests and
// benchmarks that compare levels in one process: not while kernels run.
CpuIsa SetCpuIsa(CpuIsa isa);

// The level that a value of SALIENT_CPU_ISA asks for, at most `machine`; `machine` if it is null or names none.
CpuIsa LoweredCpuIsa(CpuIsa machine, const char* wanted);

// "scalar", "avx2", "avx512", "amx": the names that SALIENT_CPU_ISA takes.
const char* CpuIsaName(CpuIsa isa);

}  // namespace salient

// Times the CPU backend's operations, and measures the limits (roofs) of the machine. benchmarks/ops makes a table of
// both.
//
//   ops_bench THREADS [--benchmark_filter=selection] [--benchmark_min_time=0.1]
//   SALIENT_CPU_ISA=avx2 ops_bench 1

#include <cstdlib>
#include <iostream>

#include "benchmarks/operations/common.h"
#include "engine/base/cpu_features.h"

int main(int argc, char** argv) {
  using namespace salient::benchmarks;
  benchmark::Initialize(&argc, argv);
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::cerr << "usage: ops_bench THREADS [--benchmark_...]\n";
    return 2;
  }
  benchmark::AddCustomContext("isa", salient::CpuIsaName(salient::DetectCpuIsa()));
  RegisterRoofs(threads);
  RegisterLinear(threads);
  RegisterAttention(threads);
  RegisterRowwise(threads);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

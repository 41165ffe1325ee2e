// The limits (roofs): the peak of each arithmetic, and the bandwidth of reading memory of each size, on all threads.

#include "benchmarks/operations/roofs.h"

#include <algorithm>
#include <memory>
#include <string>

#include "benchmarks/operations/common.h"
#include "engine/base/thread_pool.h"

namespace salient::benchmarks {
namespace {

constexpr int64_t kRounds = 20000;
constexpr int64_t kLeastRead = 8 << 20;  // bytes per call, so that the work of starting the threads does not matter

void Peak(benchmark::State& state, PeakLoop loop, Arithmetic arithmetic, int threads) {
  ThreadPool pool(threads);
  for (auto _ : state) pool.ParallelFor(threads, [&loop](int64_t, int) { loop.run(kRounds); });
  Report(state, {.operations = loop.operations * kRounds * threads, .arithmetic = arithmetic});
}

void Read(benchmark::State& state, int64_t bytes, int threads) {
  ThreadPool pool(threads);
  const auto read = RoofLoopsFor(DetectCpuIsa()).read;
  const auto backend = MakeCpuBackend({.threads = 1});
  DeviceArray<float> memory = backend->Array<float>(bytes / sizeof(float));
  // Memory that was never written is one page of zeros, mapped many times, which fits the caches.
  std::fill_n(memory.data(), memory.size(), 1.0f);
  const int64_t each = static_cast<int64_t>(memory.size()) / threads / 256 * 256;
  const int64_t times = std::max<int64_t>(1, kLeastRead / bytes);
  for (auto _ : state) {
    pool.ParallelFor(threads, [&](int64_t part, int) {
      for (int64_t i = 0; i < times; ++i) benchmark::DoNotOptimize(read(memory.data() + part * each, each));
    });
  }
  Report(state, {.bytes = static_cast<double>(each * threads * times) * sizeof(float),
                 .footprint = static_cast<double>(bytes)});
}

}  // namespace

void RegisterRoofs(int threads) {
  const RoofLoops loops = RoofLoopsFor(DetectCpuIsa());
  for (const auto& [loop, arithmetic] : {std::pair{loops.f32, Arithmetic::kF32},
                                         {loops.bf16, Arithmetic::kBF16},
                                         {loops.int8, Arithmetic::kInt8},
                                         {loops.int8_vectors, Arithmetic::kInt8Vectors}}) {
    if (loop.run == nullptr) continue;
    Register(std::string("roof/peak/") + NameOf(arithmetic), Peak, loop, arithmetic, threads);
  }
  for (int64_t bytes = 16 << 10; bytes <= 1 << 30; bytes *= 4) {
    Register("roof/read/bytes:" + std::to_string(bytes), Read, bytes, threads);
  }
}

}  // namespace salient::benchmarks

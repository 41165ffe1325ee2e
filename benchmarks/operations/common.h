// Common functions of the benchmarks of operations: input data, and the least work of an operation.

#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/backend/backend.h"

namespace salient::benchmarks {

// The model whose operations are timed, Transformer base: its width, heads, feed-forward width, vocabulary, layers of
// the decoder, width of selection.
inline constexpr int32_t kWidth = 512, kHeads = 8, kFeedForward = 2048, kVocabulary = 32000, kLayers = 6;
inline constexpr int32_t kSelectionWidth = 64, kGroups = 2;

// The arithmetic of an operation, which chooses the peak that it is compared with.
enum class Arithmetic { kF32, kBF16, kInt8, kInt8Vectors };
const char* NameOf(Arithmetic arithmetic);
const char* NameOf(ComputeType type);

// The least work of one execution. Data that a kernel reads twice counts once.
struct Work {
  double bytes = 0;       // read and written
  double operations = 0;  // multiplications and additions; an exponential function counts kExponential
  Arithmetic arithmetic = Arithmetic::kF32;
  double footprint = 0;  // bytes that successive executions use, which decides from which cache `bytes` are read
};
inline constexpr double kExponential = 14;  // a polynomial of the sixth degree, and scaling

// Writes `work` to the counters and the label that benchmarks/ops reads.
void Report(benchmark::State& state, const Work& work);

// Numbers from a normal distribution; the same in every run.
std::vector<float> Normal(size_t n);

// Adds a benchmark: `arguments` are its function and what that is called with.
template <typename... Arguments>
void Register(const std::string& name, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), arguments...)->UseRealTime();
}

// Adds this file's benchmarks, to be run on `threads` threads.
void RegisterRoofs(int threads);
void RegisterLinear(int threads);
void RegisterAttention(int threads);
void RegisterRowwise(int threads);

}  // namespace salient::benchmarks

// The row-wise operations of a step: layer norm, rotation, embedding, and the search for the next tokens.
//
//   rowwise_bench --benchmark_repetitions=5
//
// bytes_per_second counts what is read and written, to be held against the bandwidth of the cache it lies in.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "engine/backend/backend.h"

namespace salient {
namespace {

constexpr int32_t kWidth = 512;

std::vector<float> Normal(size_t n) {
  static std::minstd_rand random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

std::unique_ptr<Backend> OneThread() { return MakeCpuBackend({.threads = 1, .compute = ComputeType::kF32}); }

void LayerNorm(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  const std::unique_ptr<Backend> backend = OneThread();
  const std::vector<float> input = Normal(rows * kWidth), weight = Normal(kWidth), bias = Normal(kWidth);
  std::vector<float> output(input.size());
  for (auto _ : state) {
    backend->LayerNorm({.rows = Rows::First(rows),
                        .input = input.data(),
                        .width = kWidth,
                        .weight = weight.data(),
                        .bias = bias.data(),
                        .output = output.data()});
    benchmark::DoNotOptimize(output.data());
  }
  state.SetBytesProcessed(state.iterations() * rows * kWidth * 8);
}
BENCHMARK(LayerNorm)->ArgName("rows")->Arg(1)->Arg(64);

void Rotate(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  const std::unique_ptr<Backend> backend = OneThread();
  std::vector<float> values = Normal(rows * kWidth);
  const std::vector<int32_t> positions(rows, 1234);
  for (auto _ : state) {
    backend->Rotate({.rows = Rows::First(rows),
                     .values = values.data(),
                     .stride = kWidth,
                     .heads = 8,
                     .head_width = 64,
                     .positions = positions.data()});
    benchmark::DoNotOptimize(values.data());
  }
  state.SetBytesProcessed(state.iterations() * rows * kWidth * 8);
}
BENCHMARK(Rotate)->ArgName("rows")->Arg(1)->Arg(64);

void Embed(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  const std::unique_ptr<Backend> backend = OneThread();
  const std::vector<float> table = Normal(1000 * kWidth);
  std::vector<float> output(rows * kWidth);
  std::vector<int32_t> tokens(rows), offsets(rows);
  for (int32_t i = 0; i < rows; ++i) tokens[i] = i * 7 % 1000, offsets[i] = i;
  for (auto _ : state) {
    backend->Embed({.rows = Rows::First(rows),
                    .table = table.data(),
                    .tokens = tokens.data(),
                    .offsets = offsets.data(),
                    .width = kWidth,
                    .scale = 22.6f,
                    .output = output.data()});
    benchmark::DoNotOptimize(output.data());
  }
  state.SetBytesProcessed(state.iterations() * rows * kWidth * 8);
}
BENCHMARK(Embed)->ArgName("rows")->Arg(1)->Arg(64);

// Arguments: vocabulary, candidates a row.
void Candidates(benchmark::State& state) {
  const int32_t vocabulary = static_cast<int32_t>(state.range(0)), width = static_cast<int32_t>(state.range(1));
  const std::unique_ptr<Backend> backend = OneThread();
  const std::vector<float> logits = Normal(vocabulary);
  const TokenConstraint constraint;
  std::vector<Candidate> candidates(width);
  for (auto _ : state) {
    backend->Candidates({.rows = Rows::First(1),
                         .logits = logits.data(),
                         .vocabulary = vocabulary,
                         .special = {},
                         .constraints = &constraint,
                         .width = width,
                         .candidates = candidates.data()});
    benchmark::DoNotOptimize(candidates.data());
  }
  state.SetBytesProcessed(state.iterations() * vocabulary * 4);
}
BENCHMARK(Candidates)->ArgNames({"vocabulary", "width"})->ArgsProduct({{8000, 32000}, {1, 8, 32}});

}  // namespace
}  // namespace salient

BENCHMARK_MAIN();

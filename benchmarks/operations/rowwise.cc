// Operations on single rows: layer norm, rotation, embedding, and the search for the next tokens.

#include <memory>
#include <string>

#include "benchmarks/operations/common.h"

namespace salient::benchmarks {
namespace {

std::unique_ptr<Backend> MakeBackend(int threads) {
  return MakeCpuBackend({.threads = threads, .compute = ComputeType::kF32});
}

void LayerNorm(benchmark::State& state, int32_t rows, int threads) {
  const std::unique_ptr<Backend> backend = MakeBackend(threads);
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
  const double values = rows * kWidth;
  Report(state, {.bytes = 8 * values, .operations = 8 * values, .footprint = 8 * values});
}

void Rotate(benchmark::State& state, int32_t rows, int threads) {
  const std::unique_ptr<Backend> backend = MakeBackend(threads);
  std::vector<float> values = Normal(rows * kWidth);
  std::vector<int32_t> positions(rows);
  for (int32_t i = 0; i < rows; ++i) positions[i] = 1000 + i;
  for (auto _ : state) {
    backend->Rotate({.rows = Rows::First(rows),
                     .values = values.data(),
                     .stride = kWidth,
                     .heads = kHeads,
                     .head_width = kWidth / kHeads,
                     .positions = positions.data()});
    benchmark::DoNotOptimize(values.data());
  }
  const double bytes = 8.0 * rows * kWidth;
  // Three operations per value; one sine and one cosine for every two values of one head.
  const double operations = 3.0 * rows * kWidth + rows * (kWidth / kHeads) * kExponential;
  Report(state, {.bytes = bytes, .operations = operations, .footprint = bytes / 2});
}

void Embed(benchmark::State& state, int32_t rows, int threads) {
  const std::unique_ptr<Backend> backend = MakeBackend(threads);
  const std::vector<float> table = Normal(static_cast<size_t>(kVocabulary) * kWidth);
  std::vector<float> output(rows * kWidth);
  std::vector<int32_t> tokens(rows), offsets(rows);
  for (int32_t i = 0; i < rows; ++i) tokens[i] = i * 797 % kVocabulary, offsets[i] = i;
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
  const double values = rows * kWidth;
  Report(state, {.bytes = 8 * values, .operations = (2 + kExponential) * values, .footprint = 8 * values});
}

// The `width` best tokens of each row, with their log probabilities.
void NextTokens(benchmark::State& state, int32_t rows, int32_t width, int threads) {
  const std::unique_ptr<Backend> backend = MakeBackend(threads);
  const std::vector<float> logits = Normal(static_cast<size_t>(rows) * kVocabulary);
  const std::vector<TokenConstraint> constraints(rows);
  std::vector<Candidate> candidates(rows * width);
  for (auto _ : state) {
    backend->Candidates({.rows = Rows::First(rows),
                         .logits = {logits.data(), kVocabulary},
                         .special = {},
                         .constraints = constraints.data(),
                         .width = width,
                         .candidates = candidates.data()});
    benchmark::DoNotOptimize(candidates.data());
  }
  const double values = static_cast<double>(rows) * kVocabulary;
  Report(state, {.bytes = 4 * values, .operations = (3 + kExponential) * values, .footprint = 4 * values});
}

void TopProbability(benchmark::State& state, int32_t rows, int threads) {
  const std::unique_ptr<Backend> backend = MakeBackend(threads);
  const std::vector<float> logits = Normal(static_cast<size_t>(rows) * kVocabulary);
  std::vector<float> probability(rows);
  for (auto _ : state) {
    backend->TopProbability(
        {.rows = Rows::First(rows), .logits = {logits.data(), kVocabulary}, .probability = probability.data()});
    benchmark::DoNotOptimize(probability.data());
  }
  const double values = static_cast<double>(rows) * kVocabulary;
  Report(state, {.bytes = 4 * values, .operations = (3 + kExponential) * values, .footprint = 4 * values});
}

}  // namespace

void RegisterRowwise(int threads) {
  for (const int32_t rows : {1, 16, 512}) {
    const std::string at = "/rows:" + std::to_string(rows);
    Register("layer norm" + at, LayerNorm, rows, threads);
    Register("rotation" + at, Rotate, rows, threads);
    Register("embedding" + at, Embed, rows, threads);
  }
  for (const int32_t rows : {1, 16}) {
    const std::string at = "/rows:" + std::to_string(rows);
    Register("next tokens/best" + at, NextTokens, rows, 1, threads);
    Register("next tokens/8 best" + at, NextTokens, rows, 8, threads);
    Register("top probability" + at, TopProbability, rows, threads);
  }
}

}  // namespace salient::benchmarks

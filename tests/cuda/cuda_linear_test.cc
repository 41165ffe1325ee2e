// Linear layers of the CUDA backend against the reference, in every number format.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/backend/backend_fixture.h"

namespace salient {
namespace {

class CudaLinearTest : public BackendTest {
 protected:
  // Relative to the sum of the products' magnitudes.
  double Tolerance() const {
    const ComputeType compute = GetParam().compute;
    return compute == ComputeType::kF32 ? 1e-5 : compute == ComputeType::kBF16 ? 1e-2 : 2e-2;
  }

  // With the rows counted on the device, as in decoding, or known to the host, as in encoding.
  std::vector<float> Compute(const PackedLinear& packed, const std::vector<float>& input, int32_t rows,
                             Activation activation = Activation::kNone, bool counted = true) {
    std::vector<float> output(static_cast<size_t>(rows) * packed.outputs(), std::nanf(""));
    const std::vector<int32_t> count(1, rows);  // on the heap, where a GPU sees it
    backend().Linear({.weight = &packed,
                      .rows = {nullptr, counted ? count.data() : nullptr, rows},
                      .input = input.data(),
                      .activation = activation,
                      .output = output.data()});
    return output;
  }
};
SALIENT_TEST_ALL_BACKENDS(CudaLinearTest);

struct LinearShape {
  int32_t inputs, outputs, rows;
};

TEST_P(CudaLinearTest, AgreesWithTheReference) {
  for (const LinearShape& shape :
       {LinearShape{1, 1, 1}, LinearShape{33, 9, 17}, LinearShape{48, 96, 5}, LinearShape{64, 200, 70},
        LinearShape{600, 17, 33}, LinearShape{40, 4500, 3}, LinearShape{128, 72, 300}}) {
    const std::vector<float> weight = Normal(static_cast<size_t>(shape.inputs) * shape.outputs);
    const std::vector<float> bias = Normal(shape.outputs);
    const std::vector<float> input = Normal(static_cast<size_t>(shape.rows) * shape.inputs);
    const LinearWeights weights = {weight.data(), bias.data(), shape.inputs, shape.outputs};
    const auto packed = backend().Pack(weights), reference = PackLinearReference(weights);
    for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kSwish}) {
      std::vector<float> expected(static_cast<size_t>(shape.rows) * shape.outputs);
      LinearReference({.weight = reference.get(),
                       .rows = Rows::First(shape.rows),
                       .input = input.data(),
                       .activation = activation,
                       .output = expected.data()});
      const double allowed = Tolerance() * 4 * std::sqrt(static_cast<double>(shape.inputs) + 1);
      for (const bool counted : {true, false}) {
        const std::vector<float> got = Compute(*packed, input, shape.rows, activation, counted);
        EXPECT_LE(LargestDifference(got.data(), expected.data(), got.size()), allowed)
            << shape.rows << " rows of " << shape.inputs << " to " << shape.outputs << ", counted " << counted;
      }
    }
  }
}

// A grid has at most 65,535 blocks along y.
TEST_P(CudaLinearTest, TakesAnyNumberOfRows) {
  constexpr int32_t kRows = 4 * 65'536, kCounted = 3;
  const std::vector<float> weight = {2}, bias = {1}, input(kRows, 3);
  const auto packed = backend().Pack({weight.data(), bias.data(), 1, 1});
  std::vector<float> output(kRows, 0);
  const std::vector<int32_t> count(1, kCounted);
  backend().Linear(
      {.weight = packed.get(), .rows = {nullptr, count.data(), kRows}, .input = input.data(), .output = output.data()});
  EXPECT_NEAR(output[kCounted - 1], 7, 0.05);
  EXPECT_EQ(output[kCounted], 0);
}

TEST_P(CudaLinearTest, ScattersAccumulatesAndStopsAtTheCount) {
  constexpr int32_t kInputs = 48, kOutputs = 21;
  const std::vector<float> weight = Normal(kInputs * kOutputs), bias = Normal(kOutputs), input = Normal(60 * kInputs);
  const auto packed = backend().Pack({weight.data(), bias.data(), kInputs, kOutputs});
  const std::vector<float> plain = Compute(*packed, input, 40, Activation::kRelu);
  for (const bool scatter : {false, true}) {
    for (const bool accumulate : {false, true}) {
      for (const int32_t count : {0, 1, 17, 38}) {
        const SparseRows rows(count);
        const std::vector<float> before = Normal(static_cast<size_t>(rows.end() + 60) * kOutputs);
        std::vector<float> output = before, expected = before;
        backend().Linear({.weight = packed.get(),
                          .rows = rows.rows(),
                          .input = input.data(),
                          .activation = Activation::kRelu,
                          .output = output.data(),
                          .scatter = scatter,
                          .accumulate = accumulate});
        for (int32_t i = 0; i < count; ++i) {
          float* row = expected.data() + static_cast<size_t>(scatter ? rows[i] : i) * kOutputs;
          for (int32_t n = 0; n < kOutputs; ++n) row[n] = (accumulate ? row[n] : 0.0f) + plain[i * kOutputs + n];
        }
        ASSERT_LE(LargestDifference(output.data(), expected.data(), output.size()), 0.0f)
            << scatter << accumulate << count;
      }
    }
  }
}

// int8 is made of integers, and of the same few roundings on every device.
TEST_P(CudaLinearTest, Int8IsTheCpusToTheBit) {
  if (GetParam().compute != ComputeType::kInt8) return;
  const std::unique_ptr<Backend> cpu = MakeCpuBackend({.threads = 1, .compute = ComputeType::kInt8});
  for (const LinearShape& shape : {LinearShape{1, 1, 1}, LinearShape{33, 9, 17}, LinearShape{512, 64, 40},
                                   LinearShape{1100, 24, 70}, LinearShape{64, 4200, 3}}) {
    const std::vector<float> bias = Normal(shape.outputs);
    std::vector<float> weight = Normal(static_cast<size_t>(shape.inputs) * shape.outputs);
    std::vector<float> input = Normal(static_cast<size_t>(shape.rows) * shape.inputs);
    // Outputs and rows that have no scale: all zero, next to nothing, not finite.
    std::fill_n(weight.begin(), shape.inputs, 0.0f);
    if (shape.outputs > 2) weight[shape.inputs * 2] = INFINITY;
    if (shape.rows > 2) {
      std::fill_n(input.begin(), shape.inputs, 1e-38f);
      input[shape.inputs] = std::nanf("");
    }
    const LinearWeights weights = {weight.data(), bias.data(), shape.inputs, shape.outputs};
    const auto packed = backend().Pack(weights), cpus = cpu->Pack(weights);
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      std::vector<float> got = Compute(*packed, input, shape.rows, activation), expected(got.size());
      cpu->Linear({.weight = cpus.get(),
                   .rows = Rows::First(shape.rows),
                   .input = input.data(),
                   .activation = activation,
                   .output = expected.data()});
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(SameBits(&got[i], &expected[i], 1) || (std::isnan(got[i]) && std::isnan(expected[i])))
            << got[i] << " and " << expected[i] << " at " << i << " of " << shape.inputs << " to " << shape.outputs;
      }
    }
  }
}

TEST_P(CudaLinearTest, AddsToTheResidualOfRowsThatTheHostKnows) {
  constexpr int32_t kInputs = 64, kOutputs = 40, kRows = 37;
  const std::vector<float> weight = Normal(kInputs * kOutputs), bias = Normal(kOutputs);
  const std::vector<float> input = Normal(kRows * kInputs);
  const auto packed = backend().Pack({weight.data(), bias.data(), kInputs, kOutputs});
  for (const Activation activation : {Activation::kNone, Activation::kSwish}) {
    const std::vector<float> plain = Compute(*packed, input, kRows, activation, false);
    const std::vector<float> before = Normal(plain.size());
    std::vector<float> output = before;
    backend().Linear({.weight = packed.get(),
                      .rows = Rows::First(kRows),
                      .input = input.data(),
                      .activation = activation,
                      .output = output.data(),
                      .scatter = true,
                      .accumulate = true});
    for (size_t i = 0; i < output.size(); ++i) ASSERT_NEAR(output[i], before[i] + plain[i], 1e-2) << i;
  }
}

// On which a translation's independence of its neighbours stands.
TEST_P(CudaLinearTest, ARowIsTheSameBitsAmongAnyRows) {
  for (const auto& [inputs, outputs] : {std::pair(96, 40), std::pair(520, 16), std::pair(64, 4200)}) {
    constexpr int32_t kRows = 70;
    const std::vector<float> weight = Normal(static_cast<size_t>(inputs) * outputs);
    const std::vector<float> input = Normal(static_cast<size_t>(kRows) * inputs);
    const auto packed = backend().Pack({weight.data(), nullptr, inputs, outputs});
    for (const bool counted : {true, false}) {
      const std::vector<float> all = Compute(*packed, input, kRows, Activation::kNone, counted);
      for (const int32_t rows : {1, 16, 17, 33}) {
        const int32_t first = kRows - rows;
        const std::vector<float> some(input.begin() + static_cast<size_t>(first) * inputs, input.end());
        const std::vector<float> got = Compute(*packed, some, rows, Activation::kNone, counted);
        ASSERT_TRUE(SameBits(got.data(), all.data() + static_cast<size_t>(first) * outputs, got.size()))
            << rows << " rows of " << inputs << " to " << outputs << ", counted " << counted;
      }
    }
  }
}

}  // namespace
}  // namespace salient

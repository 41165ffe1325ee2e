// Linear layers of the CPU backend, on every instruction set that this machine has, against the reference and, for
// int8, against the same arithmetic in plain integers.

#include "engine/linear/linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/cpu_features.h"
#include "engine/base/thread_pool.h"
#include "engine/linear/cpu/operations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backend/backend_fixture.h"

namespace salient {
namespace {

using ::testing::Combine;
using ::testing::Each;
using ::testing::Values;

std::vector<float> RandomFloats(size_t size, uint32_t seed, float scale = 1.0f) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::vector<float> values(size);
  for (float& value : values) value = uniform(generator);
  return values;
}

struct Layer {
  Layer(int32_t k, int32_t n, bool with_bias = true)
      : inputs(k), outputs(n), weight(RandomFloats(static_cast<size_t>(k) * n, 7 * k + n)), bias(RandomFloats(n, n)) {
    view.weight = weight.data();
    view.bias = with_bias ? bias.data() : nullptr;
    view.inputs = k;
    view.outputs = n;
  }

  int32_t inputs, outputs;
  std::vector<float> weight, bias;
  LinearWeights view;
};

LinearArgs FirstRows(const PackedLinear& packed, const std::vector<float>& input, int32_t rows,
                     std::vector<float>& output, Activation activation = Activation::kNone) {
  LinearArgs args;
  args.weight = &packed;
  args.rows = Rows::First(rows);
  args.input = input.data();
  args.activation = activation;
  args.output = output.data();
  return args;
}

std::vector<float> Compute(const PackedLinear& packed, const std::vector<float>& input, int32_t rows, ThreadPool& pool,
                           Activation activation = Activation::kNone) {
  std::vector<float> output(static_cast<size_t>(rows) * packed.outputs(), std::nanf(""));
  LinearCpu(FirstRows(packed, input, rows, output, activation), pool);
  return output;
}

std::vector<float> ComputeReference(const Layer& layer, const std::vector<float>& input, int32_t rows,
                                    Activation activation = Activation::kNone) {
  const auto packed = PackLinearReference(layer.view);
  std::vector<float> output(static_cast<size_t>(rows) * layer.outputs);
  LinearReference(FirstRows(*packed, input, rows, output, activation));
  return output;
}

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// Sizes around every block size of the kernels, and the models' own.
struct LinearShape {
  int32_t inputs, outputs, rows;
};
const LinearShape kShapes[] = {
    {1, 1, 1},     {1, 17, 3},   {3, 2, 16},    {4, 33, 17},   {15, 16, 5},   {16, 64, 33},   {17, 65, 4},
    {31, 31, 31},  {32, 96, 64}, {33, 100, 7},  {63, 1, 40},   {64, 48, 15},  {65, 129, 130}, {100, 7, 520},
    {127, 80, 23}, {200, 3, 2},  {256, 256, 1}, {256, 256, 9}, {512, 1, 1},   {512, 1, 100},  {512, 500, 70},
    {512, 96, 1},  {700, 50, 6}, {1024, 64, 6}, {2048, 40, 3}, {2048, 64, 64}};

// The greatest error in units of sum_k |x_k w_k| + |b|, which is what rounding is relative to.
double LargestError(const Layer& layer, const std::vector<float>& input, const std::vector<float>& result,
                    const std::vector<float>& expected, int32_t rows) {
  double largest = 0;
  for (int32_t i = 0; i < rows; ++i) {
    for (int32_t n = 0; n < layer.outputs; ++n) {
      double magnitude = layer.view.bias == nullptr ? 0 : std::abs(layer.bias[n]);
      for (int32_t k = 0; k < layer.inputs; ++k) {
        magnitude += std::abs(static_cast<double>(input[i * layer.inputs + k]) * layer.weight[n * layer.inputs + k]);
      }
      const size_t at = static_cast<size_t>(i) * layer.outputs + n;
      const double error = std::abs(static_cast<double>(result[at]) - expected[at]) / magnitude;
      if (!(error <= largest)) largest = error;  // a NaN is an error too
    }
  }
  return largest;
}

double Tolerance(ComputeType type) {
  switch (type) {
    case ComputeType::kF32:
      return 1e-5;
    case ComputeType::kBF16:
      return 1e-2;  // both sides rounded to 8 bits
    default:
      return 3e-2;  // 7 bits of the largest of a row
  }
}

using IsaAndType = std::tuple<CpuIsa, ComputeType>;

std::string IsaAndTypeName(const ::testing::TestParamInfo<IsaAndType>& info) {
  const char* types[] = {"auto", "f32", "bf16", "int8"};
  return std::string(CpuIsaName(std::get<0>(info.param))) + "_" + types[static_cast<int>(std::get<1>(info.param))];
}

std::string IsaTestName(const ::testing::TestParamInfo<CpuIsa>& info) { return CpuIsaName(info.param); }

const auto kIsas = Values(CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx);

class LinearTest : public ::testing::TestWithParam<IsaAndType> {
 protected:
  LinearTest() : isa_(std::get<0>(GetParam())), type_(std::get<1>(GetParam())) {}

  std::unique_ptr<PackedLinear> Pack(const Layer& layer) { return PackLinearCpu(layer.view, type_, pool_); }

  ScopedIsa isa_;
  ComputeType type_;
  ThreadPool pool_{2};
};

INSTANTIATE_TEST_SUITE_P(Isas, LinearTest,
                         Combine(kIsas,
                                 Values(ComputeType::kAuto, ComputeType::kF32, ComputeType::kBF16, ComputeType::kInt8)),
                         IsaAndTypeName);

TEST_P(LinearTest, AgreesWithTheReference) {
  for (const LinearShape& shape : kShapes) {
    for (bool with_bias : {true, false}) {
      const Layer layer(shape.inputs, shape.outputs, with_bias);
      const auto input = RandomFloats(static_cast<size_t>(shape.rows) * shape.inputs, 5);
      const auto result = Compute(*Pack(layer), input, shape.rows, pool_);
      const auto expected = ComputeReference(layer, input, shape.rows);
      EXPECT_LE(LargestError(layer, input, result, expected, shape.rows), Tolerance(type_))
          << shape.rows << " rows of " << shape.inputs << " to " << shape.outputs;
    }
  }
}

TEST_P(LinearTest, AgreesWithTheReferenceAfterEachActivation) {
  const Layer layer(96, 70);
  const auto input = RandomFloats(37 * 96, 6);
  const auto packed = Pack(layer);
  for (Activation activation : {Activation::kRelu, Activation::kGelu, Activation::kSwish}) {
    const auto result = Compute(*packed, input, 37, pool_, activation);
    const auto expected = ComputeReference(layer, input, 37, activation);
    EXPECT_LE(LargestError(layer, input, result, expected, 37), Tolerance(type_)) << static_cast<int>(activation);
  }
}

TEST_P(LinearTest, ScattersAccumulatesAndStopsAtTheCount) {
  const Layer layer(80, 45);
  const auto packed = Pack(layer);
  const auto input = RandomFloats(40 * 80, 8);
  for (bool scatter : {false, true}) {
    for (bool accumulate : {false, true}) {
      for (int32_t count : {0, 1, 3, 16, 19, 40}) {
        std::vector<int32_t> index(40);
        for (int32_t i = 0; i < 40; ++i) index[i] = 2 * i + i / 7;
        const auto plain = Compute(*packed, input, 40, pool_, Activation::kRelu);
        const std::vector<float> before = RandomFloats(100 * 45, 9);
        std::vector<float> output = before;
        LinearArgs args = FirstRows(*packed, input, 40, output, Activation::kRelu);
        args.rows = Rows{index.data(), &count, 40};
        args.scatter = scatter;
        args.accumulate = accumulate;
        LinearCpu(args, pool_);

        std::vector<float> expected = before;
        for (int32_t i = 0; i < count; ++i) {
          float* row = expected.data() + (scatter ? index[i] : i) * 45;
          for (int32_t n = 0; n < 45; ++n) row[n] = accumulate ? row[n] + plain[i * 45 + n] : plain[i * 45 + n];
        }
        ASSERT_EQ(Bits(output), Bits(expected)) << scatter << accumulate << count;
      }
    }
  }
}

TEST_P(LinearTest, ScattersPastTheRowsThatAreTakenAtOnce) {
  const Layer layer(20, 9);
  const auto packed = Pack(layer);
  constexpr int32_t kRows = 1200;
  const auto input = RandomFloats(kRows * 20, 10);
  const auto plain = Compute(*packed, input, kRows, pool_);
  std::vector<int32_t> index(kRows);
  for (int32_t i = 0; i < kRows; ++i) index[i] = i + 5;
  std::vector<float> output((kRows + 5) * 9, 0.5f);
  LinearArgs args = FirstRows(*packed, input, kRows, output);
  args.rows.index = index.data();
  args.scatter = true;
  LinearCpu(args, pool_);
  EXPECT_THAT(std::vector<float>(output.begin(), output.begin() + 5 * 9), Each(0.5f));
  EXPECT_EQ(Bits(std::vector<float>(output.begin() + 5 * 9, output.end())), Bits(plain));
}

// The promise on which a translation's independence of its neighbours stands.
TEST_P(LinearTest, ARowIsTheSameBitsAmongAnyRowsOnAnyThreads) {
  for (const auto& [inputs, outputs] : {std::pair(40, 30), {256, 200}, {512, 96}, {1100, 33}, {300, 1}}) {
    const Layer layer(inputs, outputs);
    const auto packed = Pack(layer);
    constexpr int32_t kRows = 530;
    const auto input = RandomFloats(static_cast<size_t>(kRows) * inputs, 11);
    const auto all = Bits(Compute(*packed, input, kRows, pool_, Activation::kGelu));
    for (int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      for (int32_t rows : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257, 513}) {
        for (int32_t first : {0, 13}) {
          if (first + rows > kRows) continue;
          const std::vector<float> some(input.begin() + static_cast<size_t>(first) * inputs,
                                        input.begin() + static_cast<size_t>(first + rows) * inputs);
          const auto begin = all.begin() + static_cast<size_t>(first) * outputs;
          ASSERT_EQ(Bits(Compute(*packed, some, rows, pool, Activation::kGelu)),
                    std::vector<uint32_t>(begin, begin + static_cast<size_t>(rows) * outputs))
              << rows << " rows from " << first << " on " << threads << " threads, K " << inputs << ", N " << outputs;
        }
      }
    }
  }
}

// What a shortlist stands on: some of a layer's outputs by themselves.
TEST_P(LinearTest, PickedOutputsAreTheSameBits) {
  for (const auto& [inputs, outputs] : {std::pair(1, 1), {40, 30}, {70, 257}, {512, 1000}}) {
    const Layer layer(inputs, outputs);
    const auto packed = Pack(layer);
    const auto input = RandomFloats(static_cast<size_t>(37) * inputs, 21);
    for (const int32_t step : {1, 3, 16, 1000}) {
      std::vector<int32_t> picked;
      for (int32_t n = step / 2 % outputs; n < outputs; n += step) picked.push_back(n);
      const auto some = PickOutputsCpu(*packed, picked, pool_);
      ASSERT_EQ(some->inputs(), inputs);
      ASSERT_EQ(some->outputs(), static_cast<int32_t>(picked.size()));
      for (const int32_t rows : {1, 2, 16, 37}) {
        const auto all = Compute(*packed, input, rows, pool_);
        std::vector<float> expected;
        for (int32_t i = 0; i < rows; ++i) {
          for (const int32_t n : picked) expected.push_back(all[static_cast<size_t>(i) * outputs + n]);
        }
        ASSERT_EQ(Bits(Compute(*some, input, rows, pool_)), Bits(expected))
            << rows << " rows, every " << step << "th of " << outputs << " outputs";
      }
    }
  }
}

TEST_P(LinearTest, ANotANumberStaysInItsRow) {
  const Layer layer(70, 20);
  const auto packed = Pack(layer);
  auto input = RandomFloats(20 * 70, 12);
  const auto clean = Compute(*packed, input, 20, pool_);
  input[3 * 70 + 5] = std::nanf("");
  input[9 * 70 + 69] = std::numeric_limits<float>::infinity();
  for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kSwish}) {
    const auto result = Compute(*packed, input, 20, pool_, activation);
    for (int32_t n = 0; n < 20; ++n) EXPECT_TRUE(std::isnan(result[3 * 20 + n])) << static_cast<int>(activation);
  }
  const auto result = Compute(*packed, input, 20, pool_);
  for (int32_t i = 0; i < 20; ++i) {
    for (int32_t n = 0; n < 20; ++n) {
      if (i == 9) {
        EXPECT_FALSE(std::isfinite(result[i * 20 + n]));
      } else if (i != 3) {
        EXPECT_EQ(result[i * 20 + n], clean[i * 20 + n]);
      }
    }
  }
}

TEST_P(LinearTest, AWeightThatIsNotANumberStaysInItsOutput) {
  for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Layer layer(70, 20);
    const auto input = RandomFloats(3 * 70, 16);
    const auto clean = Compute(*Pack(layer), input, 3, pool_);
    layer.weight[4 * 70 + 1] = bad;  // not the last one, which a maximum that forgets NaNs would keep
    const auto result = Compute(*Pack(layer), input, 3, pool_);
    for (int32_t i = 0; i < 3 * 20; ++i) {
      if (i % 20 == 4) {
        EXPECT_FALSE(std::isfinite(result[i]));
      } else {
        EXPECT_EQ(result[i], clean[i]);
      }
    }
  }
}

TEST_P(LinearTest, RowsOfZerosAndOfTinyNumbersGiveTheBias) {
  const Layer layer(100, 30);
  std::vector<float> input(3 * 100, 0.0f);
  std::fill_n(input.begin() + 100, 100, 1e-40f);
  std::fill_n(input.begin() + 200, 100, -1e-30f);
  const auto result = Compute(*Pack(layer), input, 3, pool_);
  for (int32_t i = 0; i < 3; ++i) {
    for (int32_t n = 0; n < 30; ++n) EXPECT_EQ(result[i * 30 + n], layer.bias[n]);
  }
}

class ActivationTest : public ::testing::TestWithParam<CpuIsa> {};

INSTANTIATE_TEST_SUITE_P(Isas, ActivationTest, kIsas, IsaTestName);

// One input, weight 1: the output is the activation of the input.
TEST_P(ActivationTest, IsAccurateFromEndToEnd) {
  const ScopedIsa isa(GetParam());
  ThreadPool pool(1);
  Layer layer(1, 1, false);
  layer.weight[0] = 1.0f;
  const auto packed = PackLinearCpu(layer.view, ComputeType::kF32, pool);
  std::vector<float> input = {0.0f, -0.0f, 1e-30f, -1e-30f, 1e30f, -1e30f, 88.5f, -88.5f, 127.0f, -104.0f};
  for (float x = -30.0f; x < 30.0f; x += 0.0137f) input.push_back(x);
  const auto rows = static_cast<int32_t>(input.size());
  for (Activation activation : {Activation::kRelu, Activation::kGelu, Activation::kSwish}) {
    const auto result = Compute(*packed, input, rows, pool, activation);
    const auto expected = ComputeReference(layer, input, rows, activation);
    for (int32_t i = 0; i < rows; ++i) {
      EXPECT_NEAR(result[i], expected[i], 2e-6 * std::max(1.0f, std::abs(expected[i])))
          << "activation " << static_cast<int>(activation) << " of " << input[i];
    }
  }
}

// x ~ q * scale, by the definition.
struct Quantised {
  Quantised(const float* x, int32_t size) : q(size) {
    float largest = 0;
    for (int32_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(x[i]));
    scale = largest / 127.0f;
    const float inverse = 127.0f / largest;
    for (int32_t i = 0; i < size; ++i) q[i] = static_cast<int32_t>(std::nearbyint(x[i] * inverse));
  }
  std::vector<int32_t> q;
  float scale;
};

std::vector<float> Int8ByDefinition(const Layer& layer, const std::vector<float>& input, int32_t rows) {
  std::vector<Quantised> weights;
  for (int32_t n = 0; n < layer.outputs; ++n) {
    weights.emplace_back(layer.weight.data() + static_cast<size_t>(n) * layer.inputs, layer.inputs);
  }
  std::vector<float> output;
  for (int32_t i = 0; i < rows; ++i) {
    const Quantised x(input.data() + static_cast<size_t>(i) * layer.inputs, layer.inputs);
    for (int32_t n = 0; n < layer.outputs; ++n) {
      int64_t sum = 0;
      for (int32_t k = 0; k < layer.inputs; ++k) sum += x.q[k] * weights[n].q[k];
      const float scaled = static_cast<float>(sum) * (x.scale * weights[n].scale);
      output.push_back(scaled + (layer.view.bias == nullptr ? 0.0f : layer.bias[n]));
    }
  }
  return output;
}

class Int8LinearTest : public ::testing::TestWithParam<CpuIsa> {
 protected:
  ScopedIsa isa_{GetParam()};
  ThreadPool pool_{2};
};

INSTANTIATE_TEST_SUITE_P(Isas, Int8LinearTest, kIsas, IsaTestName);

TEST_P(Int8LinearTest, IsBitForBitItsDefinition) {
  for (const LinearShape& shape : kShapes) {
    const Layer layer(shape.inputs, shape.outputs);
    const auto input = RandomFloats(static_cast<size_t>(shape.rows) * shape.inputs, 13, 3.0f);
    const auto packed = PackLinearCpu(layer.view, ComputeType::kInt8, pool_);
    ASSERT_EQ(Bits(Compute(*packed, input, shape.rows, pool_)), Bits(Int8ByDefinition(layer, input, shape.rows)))
        << shape.rows << " rows of " << shape.inputs << " to " << shape.outputs;
  }
}

// All products at their extremes: where 16-bit sums of two would saturate, and 32-bit ones come closest to it.
TEST_P(Int8LinearTest, DoesNotSaturate) {
  for (float sign : {1.0f, -1.0f}) {
    Layer layer(65536, 17, false);
    std::fill(layer.weight.begin(), layer.weight.end(), 127.0f * sign);
    const std::vector<float> input(18 * 65536, 127.0f);
    const auto packed = PackLinearCpu(layer.view, ComputeType::kInt8, pool_);
    for (int32_t rows : {1, 2, 18}) {
      EXPECT_THAT(Compute(*packed, input, rows, pool_), Each(sign * 65536.0f * 127.0f * 127.0f));
    }
  }
}

TEST_P(Int8LinearTest, SumsThatCouldOverflowAreTakenInFloatingPoint) {
  Layer layer(150000, 2, false);
  std::fill(layer.weight.begin(), layer.weight.end(), 1.0f);
  const std::vector<float> input(3 * 150000, -1.0f);
  const auto packed = PackLinearCpu(layer.view, ComputeType::kInt8, pool_);
  EXPECT_THAT(Compute(*packed, input, 3, pool_), Each(-150000.0f));
}

TEST(LinearIsaTest, Int8IsTheSameBitsOnEveryInstructionSet) {
  ThreadPool pool(2);
  const Layer layer(130, 100);
  const auto input = RandomFloats(90 * 130, 14, 5.0f);
  for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kSwish}) {
    std::vector<std::vector<uint32_t>> results;
    for (CpuIsa isa : {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx}) {
      const ScopedIsa scope(isa);
      const auto packed = PackLinearCpu(layer.view, ComputeType::kInt8, pool);
      results.push_back(Bits(Compute(*packed, input, 90, pool, activation)));
    }
    EXPECT_THAT(results, Each(results[0])) << static_cast<int>(activation);
  }
}

TEST(LinearIsaTest, F32IsTheSameBitsWithAvx2AndAbove) {
  ThreadPool pool(2);
  const Layer layer(130, 100);
  const auto input = RandomFloats(90 * 130, 15);
  std::vector<std::vector<uint32_t>> results;
  for (CpuIsa isa : {CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx}) {
    const ScopedIsa scope(isa);
    const auto packed = PackLinearCpu(layer.view, ComputeType::kF32, pool);
    results.push_back(Bits(Compute(*packed, input, 90, pool)));
  }
  EXPECT_THAT(results, Each(results[0]));
}

TEST(LinearReferenceTest, ComputesItsDefinition) {
  const std::vector<float> weight = {1, 2, 3, 4, 5, 6};  // two outputs of three inputs
  const std::vector<float> bias = {0.5f, -100.0f};
  LinearWeights weights;
  weights.weight = weight.data();
  weights.bias = bias.data();
  weights.inputs = 3;
  weights.outputs = 2;
  const auto packed = PackLinearReference(weights);
  const std::vector<float> input = {1, 0, -1, 2, 2, 2};
  std::vector<float> output(4);
  LinearReference(FirstRows(*packed, input, 2, output));
  EXPECT_THAT(output, ::testing::ElementsAre(-1.5f, -102.0f, 12.5f, -70.0f));

  const std::vector<int32_t> index = {3, 1};
  std::vector<float> scattered(8, 1.0f);
  LinearArgs args = FirstRows(*packed, input, 2, scattered, Activation::kRelu);
  args.rows.index = index.data();
  args.scatter = args.accumulate = true;
  LinearReference(args);
  EXPECT_THAT(scattered, ::testing::ElementsAre(1, 1, 13.5f, 1, 1, 1, 1, 1));
}

}  // namespace
}  // namespace salient

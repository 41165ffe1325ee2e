// Layer norm, embedding and rotation on every backend.

#include <gtest/gtest.h>

#include <vector>

#include "tests/backend/backend_fixture.h"

namespace salient {
namespace {

constexpr float kUntouched = -777.0f;

class NormOpsTest : public BackendTest {};
SALIENT_TEST_ALL_BACKENDS(NormOpsTest);

TEST_P(NormOpsTest, LayerNormIsTheReferences) {
  for (int32_t width : {1, 7, 16, 32, 48, 64, 250, 256, 512, 1030}) {
    for (int32_t n : {0, 1, 2, 9, 130}) {
      for (bool scatter : {false, true}) {
        const SparseRows rows(n);
        const int32_t row_end = rows.end() + 1;
        const std::vector<float> input = Normal(static_cast<size_t>(row_end) * width, 3.0f);
        const std::vector<float> weight = Normal(2 * width), bias = Normal(2 * width);
        std::vector<int32_t> set(row_end);
        for (int32_t row = 0; row < row_end; ++row) set[row] = row % 2;
        std::vector<float> expected(static_cast<size_t>(row_end + rows.capacity()) * width, kUntouched);
        std::vector<float> got = expected;
        LayerNormArgs args = {.rows = rows.rows(),
                              .input = input.data(),
                              .width = width,
                              .weight = weight.data(),
                              .bias = bias.data(),
                              .set = n % 2 == 0 ? set.data() : nullptr,
                              .epsilon = 1e-5f,
                              .output = expected.data(),
                              .scatter = scatter};
        LayerNormReference(args);
        args.output = got.data();
        backend().LayerNorm(args);
        EXPECT_LE(LargestDifference(expected.data(), got.data(), got.size()), width == 1 ? 0.0f : 2e-5f)
            << "width " << width << ", " << n << " rows, scatter " << scatter;
      }
    }
  }
}

TEST_P(NormOpsTest, LayerNormOfLargeOffsetsKeepsItsVariance) {
  constexpr int32_t kWidth = 512;
  std::vector<float> input = Normal(kWidth);
  for (float& x : input) x += 1000.0f;
  const std::vector<float> weight(kWidth, 1.0f), bias(kWidth, 0.0f);
  std::vector<float> expected(kWidth), got(kWidth);
  LayerNormArgs args = {.rows = Rows::First(1),
                        .input = input.data(),
                        .width = kWidth,
                        .weight = weight.data(),
                        .bias = bias.data(),
                        .output = expected.data()};
  LayerNormReference(args);
  args.output = got.data();
  backend().LayerNorm(args);
  EXPECT_LE(LargestDifference(expected.data(), got.data(), kWidth), 1e-3f);
}

TEST_P(NormOpsTest, LayerNormOfARowDoesNotDependOnOtherRows) {
  constexpr int32_t kWidth = 516, kRows = 300;
  const std::vector<float> input = Normal(kWidth * kRows), weight = Normal(kWidth), bias = Normal(kWidth);
  std::vector<float> together(kWidth * kRows), alone(kWidth);
  LayerNormArgs args = {.rows = Rows::First(kRows),
                        .input = input.data(),
                        .width = kWidth,
                        .weight = weight.data(),
                        .bias = bias.data(),
                        .output = together.data()};
  backend().LayerNorm(args);
  for (int32_t row = 0; row < kRows; ++row) {
    args.rows = {&row, nullptr, 1};
    args.output = alone.data();
    backend().LayerNorm(args);
    ASSERT_TRUE(SameBits(alone.data(), together.data() + row * kWidth, kWidth)) << "row " << row;
  }
}

TEST_P(NormOpsTest, EmbedIsTheReferences) {
  constexpr int32_t kVocabulary = 50;
  for (int32_t width : {2, 32, 48, 64, 250, 512}) {
    for (int32_t n : {0, 1, 5, 200}) {
      for (bool positions : {false, true}) {
        const SparseRows rows(n);
        const int32_t row_end = rows.end() + 1;
        const std::vector<float> table = Normal(kVocabulary * width);
        std::vector<int32_t> tokens(row_end), offsets(row_end);
        for (int32_t& token : tokens) token = Uniform(0, kVocabulary - 1);
        for (int32_t& offset : offsets) offset = Uniform(0, 9000);
        std::vector<float> expected(static_cast<size_t>(row_end) * width, kUntouched), got = expected;
        EmbedArgs args = {.rows = rows.rows(),
                          .table = table.data(),
                          .tokens = tokens.data(),
                          .offsets = positions ? offsets.data() : nullptr,
                          .width = width,
                          .scale = 22.6f,
                          .first_position = n % 3,
                          .base = n % 2 == 0 ? 10000.0 : 10873.5,
                          .output = expected.data()};
        EmbedReference(args);
        args.output = got.data();
        backend().Embed(args);
        EXPECT_LE(LargestDifference(expected.data(), got.data(), got.size()), 1e-5f)
            << "width " << width << ", " << n << " rows, positions " << positions;
      }
    }
  }
}

TEST_P(NormOpsTest, RotateIsTheReferences) {
  struct RotateShape {
    int32_t heads, head_width, stride;
  };
  for (const RotateShape& shape : {RotateShape{8, 64, 512}, RotateShape{1, 32, 32}, RotateShape{1, 64, 70},
                                   RotateShape{3, 16, 48}, RotateShape{4, 10, 99}, RotateShape{2, 2, 4}}) {
    for (int32_t n : {0, 1, 6, 150}) {
      const SparseRows rows(n);
      std::vector<int32_t> positions(rows.end() + 1);
      for (int32_t& position : positions) position = Uniform(0, 9000);
      positions[rows.end() / 2] = 0;
      std::vector<float> expected = Normal(static_cast<size_t>(rows.capacity()) * shape.stride), got = expected;
      RotateArgs args = {.rows = rows.rows(),
                         .values = expected.data(),
                         .stride = shape.stride,
                         .heads = shape.heads,
                         .head_width = shape.head_width,
                         .positions = positions.data(),
                         .base = 10000.0f};
      RotateReference(args);
      args.values = got.data();
      backend().Rotate(args);
      EXPECT_LE(LargestDifference(expected.data(), got.data(), got.size()), 4e-6f)
          << shape.heads << " heads of " << shape.head_width << ", " << n << " rows";
    }
  }
}

TEST_P(NormOpsTest, EmbedAndRotateOfARowDoNotDependOnOtherRows) {
  constexpr int32_t kWidth = 96, kHeadWidth = 48, kRows = 257;
  const std::vector<float> table = Normal(kWidth * kRows);
  std::vector<int32_t> tokens(kRows), positions(kRows);
  for (int32_t i = 0; i < kRows; ++i) tokens[i] = i, positions[i] = Uniform(0, 5000);
  std::vector<float> together(kWidth * kRows), alone(kWidth * kRows);
  EmbedArgs embed = {.rows = Rows::First(kRows),
                     .table = table.data(),
                     .tokens = tokens.data(),
                     .offsets = positions.data(),
                     .width = kWidth,
                     .scale = 3.0f,
                     .output = together.data()};
  RotateArgs rotate = {.rows = Rows::First(kRows),
                       .values = together.data(),
                       .stride = kWidth,
                       .heads = 2,
                       .head_width = kHeadWidth,
                       .positions = positions.data(),
                       .base = 10000.0f};
  backend().Embed(embed);
  backend().Rotate(rotate);
  embed.output = alone.data();
  for (int32_t row = 0; row < kRows; ++row) {
    embed.rows = rotate.rows = {&row, nullptr, 1};
    rotate.values = alone.data() + row * kWidth;
    backend().Embed(embed);
    backend().Rotate(rotate);
  }
  EXPECT_TRUE(SameBits(alone.data(), together.data(), alone.size()));
}

}  // namespace
}  // namespace salient

#include "engine/cost/meter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;

// 2 + 4 layers, d 8, ds 4, groups of 2 in the decoder: small enough to count by hand.
ModelConfig SmallConfig() {
  ModelConfig config;
  config.vocab_size = 100;
  config.d_model = 8;
  config.heads = 2;
  config.encoder = {2, FeedForwardKind::kOwn, 16};
  config.decoder = {4, FeedForwardKind::kOwn, 16};
  config.has_selection = true;
  config.selection.width = 4;
  config.selection.group = {2, 2, 2};
  config.has_exits = true;
  return config;
}

constexpr double kLayer = 12 * 64 + 4 * 16 * 8;  // 12 d^2 + 4 d_ff d
constexpr double kOutput = 2 * 100 * 8;          // 2 V d

ExitRule Rule(DepthPolicy kind) {
  ExitRule rule;
  rule.policy = kind;
  rule.at = rule.greatest = 4;
  return rule;
}

TEST(MeterTest, DenseAtFullDepthCostsOne) {
  const ModelConfig config = SmallConfig();
  Meter meter(config);
  meter.AddEncoding(10, 4, {.visible = 200, .attended = 200, .executed = 200});
  meter.AddRow({.step = 4,
                .source_tokens = 10,
                .exit_at = 4,
                .outputs = config.vocab_size,
                .self = {.visible = 20, .attended = 20, .executed = 20},
                .cross = {.visible = 40, .attended = 40, .executed = 40}},
               Rule(DepthPolicy::kFixed));
  meter.AddExit(4);
  const CostReport report = meter.Report();
  EXPECT_THAT(report.attention_cost_ratio, DoubleEq(1.0));
  EXPECT_THAT(report.attention_executed_ratio, DoubleEq(1.0));
  EXPECT_THAT(report.keys_selected_ratio, ElementsAre(1.0, 1.0, 1.0));
  EXPECT_THAT(report.mean_exit, DoubleEq(4.0));
  EXPECT_THAT(report.exit_histogram, ElementsAre(0, 0, 0, 1));
  // Full depth, appendix B: every layer, attention to 5 + 10 keys a layer, the source's keys once, the output layer.
  const double full = 4 * (kLayer + 4 * 8 * 15) + 4 * 4.0 * 10 * 64 + kOutput;
  EXPECT_THAT(report.decoder_flops_full_depth, DoubleEq(full));
  // What ran is that and the projections of two selection layers, which a dense request's keys still get.
  EXPECT_THAT(report.decoder_flops, DoubleEq(full + 2 * 4 * 8 * 4 + 2 * 2 * 8 * 4));
}

TEST(MeterTest, CountsSelectedKeysAndTheSelectionItself) {
  const ModelConfig config = SmallConfig();
  Meter meter(config);
  meter.AddEncoding(10, 4, {.visible = 200, .attended = 40, .executed = 80, .scored = 100});
  const CostReport report = meter.Report();
  EXPECT_THAT(report.keys_selected_ratio[0], DoubleEq(0.2));
  EXPECT_THAT(report.attention_cost_ratio, DoubleEq((2 * 8 * 40 + 4 * 100) / (2.0 * 8 * 200)));
  EXPECT_THAT(report.attention_executed_ratio, DoubleEq((2 * 8 * 80 + 4 * 100) / (2.0 * 8 * 200)));
}

TEST(MeterTest, EarlyExitsCostWhatRan) {
  const ModelConfig config = SmallConfig();
  Meter meter(config);
  meter.AddRow({.step = 0,
                .source_tokens = 9,
                .exit_at = 1,
                .fills = 3,
                .outputs = config.vocab_size,
                .self = {.visible = 1, .attended = 1},
                .cross = {.visible = 9, .attended = 9}},
               Rule(DepthPolicy::kGeometric));
  meter.AddExit(1);
  meter.AddExit(3);
  const CostReport report = meter.Report();
  EXPECT_THAT(report.mean_exit, DoubleEq(2.0));
  // One layer, 10 keys, one group's projections, 3 positions filled at 4 d^2, one look of the halting head.
  EXPECT_THAT(report.decoder_flops,
              DoubleEq(kLayer + 4 * 8 * 10 + 4 * 8 * 4 + 2 * 8 * 4 + 3 * 4 * 64 + 2 * 8 + kOutput));
  EXPECT_THAT(report.attention_cost_ratio, DoubleNear(10.0 / 40, 1e-12));  // of dense attention at full depth
}

TEST(MeterTest, ExitPoliciesPayForTheirLooks) {
  const ModelConfig config = SmallConfig();
  const auto flops = [&](DepthPolicy kind, int32_t exit_at) {
    Meter meter(config);
    meter.AddRow({.exit_at = exit_at, .outputs = config.vocab_size, .compared = config.vocab_size}, Rule(kind));
    return meter.Report().decoder_flops;
  };
  EXPECT_THAT(flops(DepthPolicy::kMultinomial, 2) - flops(DepthPolicy::kFixed, 2), DoubleEq(2 * 4 * 8));
  EXPECT_THAT(flops(DepthPolicy::kGeometric, 3) - flops(DepthPolicy::kFixed, 3), DoubleEq(3 * 2 * 8));
  EXPECT_THAT(flops(DepthPolicy::kConfidence, 2) - flops(DepthPolicy::kFixed, 2), DoubleEq(2 * kOutput));
  // The last layer always exits; nothing looks there.
  EXPECT_THAT(flops(DepthPolicy::kGeometric, 4) - flops(DepthPolicy::kFixed, 4), DoubleEq(3 * 2 * 8));
}

TEST(MeterTest, WrongDraftsCostAndAreNoPartOfWhatFullDepthWouldHaveCost) {
  const ModelConfig config = SmallConfig();
  const auto report = [&](int32_t drafted_among, bool kept) {
    Meter meter(config);
    meter.AddRow({.step = 4,
                  .source_tokens = 10,
                  .exit_at = 4,
                  .outputs = config.vocab_size + drafted_among,
                  .kept = kept,
                  .self = {.visible = 20, .attended = 20}},
                 Rule(DepthPolicy::kFixed));
    return meter.Report();
  };
  const CostReport plain = report(0, true), drafted = report(config.vocab_size, true),
                   wrong = report(config.vocab_size, false);
  EXPECT_THAT(drafted.decoder_flops - plain.decoder_flops, DoubleEq(kOutput));
  EXPECT_THAT(drafted.decoder_flops_full_depth, DoubleEq(plain.decoder_flops_full_depth));
  EXPECT_THAT(wrong.decoder_flops, DoubleEq(drafted.decoder_flops));
  EXPECT_EQ(wrong.decoder_flops_full_depth, 0);
}

TEST(MeterTest, DraftAcceptanceIsThatOfAllChunks) {
  const ModelConfig config = SmallConfig();
  Meter a(config), b(config);
  EXPECT_EQ(a.Report().draft_acceptance, 0);
  a.AddDrafts(4, 3);
  a.AddDrafts(2, 0);
  b.AddDrafts(2, 2);
  a.Merge(b);
  EXPECT_THAT(a.Report().draft_acceptance, DoubleEq(5.0 / 8));
}

TEST(MeterTest, MergingAddsUp) {
  const ModelConfig config = SmallConfig();
  Meter a(config), b(config), both(config);
  for (Meter* meter : {&a, &both}) meter->AddEncoding(5, 4, {.visible = 50, .attended = 25});
  for (Meter* meter : {&b, &both}) meter->AddEncoding(7, 2, {.visible = 98, .attended = 49});
  a.AddStep(3);
  b.AddStep(1);
  a.Merge(b);
  EXPECT_THAT(a.Report().attention_cost_ratio, DoubleEq(both.Report().attention_cost_ratio));
  EXPECT_THAT(a.Report().decoder_flops, DoubleEq(both.Report().decoder_flops));
  EXPECT_THAT(a.Report().mean_documents_per_step, DoubleEq(2.0));
  EXPECT_EQ(a.Report().peak_documents_per_step, 3);
}

}  // namespace
}  // namespace salient

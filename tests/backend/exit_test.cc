// Which rows leave after a layer.

#include "engine/depth/exit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace salient {
namespace {

ExitRule Rule(DepthPolicy policy, int32_t at, int32_t least, int32_t greatest, float threshold = 0.5f) {
  ExitRule rule = {.policy = policy, .at = at, .least = least, .greatest = greatest};
  std::fill(std::begin(rule.thresholds), std::end(rule.thresholds), threshold);
  return rule;
}

// Runs layers 1, 2, ... until no row is left, and returns where each left.
std::vector<int32_t> ExitsOf(const std::vector<ExitRule>& rules, const std::vector<std::vector<float>>& signals) {
  const int32_t n = static_cast<int32_t>(rules.size());
  std::vector<int32_t> exit_at(n, 0), active(n), staying(n);
  for (int32_t i = 0; i < n; ++i) active[i] = i;
  int32_t count = n;
  for (int32_t layer = 1; count > 0 && layer <= kMaxLayers; ++layer) {
    int32_t left = -1;
    const float* signal = layer <= static_cast<int32_t>(signals.size()) ? signals[layer - 1].data() : nullptr;
    DecideExits({.active = {active.data(), &count, n},
                 .layer = layer,
                 .rules = rules.data(),
                 .signal = signal,
                 .exit_at = exit_at.data(),
                 .staying = staying.data(),
                 .staying_count = &left});
    EXPECT_TRUE(std::is_sorted(staying.begin(), staying.begin() + left));
    active.swap(staying);
    count = left;
  }
  EXPECT_EQ(count, 0);
  return exit_at;
}

TEST(DecideExitsTest, AtALayerWithinTheBounds) {
  EXPECT_EQ(ExitsOf({Rule(DepthPolicy::kFixed, 1, 1, 6), Rule(DepthPolicy::kFixed, 3, 1, 6),
                     Rule(DepthPolicy::kFixed, 6, 1, 6), Rule(DepthPolicy::kFixed, 2, 4, 6),
                     Rule(DepthPolicy::kFixed, 6, 1, 2)},
                    {}),
            (std::vector<int32_t>{1, 3, 6, 4, 2}));
}

TEST(DecideExitsTest, GeometricComparesTheSigmoid) {
  const ExitRule rule = Rule(DepthPolicy::kGeometric, 0, 1, 3);
  // sigmoid(0) = 0.5 is not above 0.5.
  EXPECT_EQ(ExitsOf({rule, rule, rule, rule}, {{0.1f, 0, -9, -9}, {0, 0.001f, -9, -9}, {9, 9, 9, -9}}),
            (std::vector<int32_t>{1, 2, 3, 3}));
}

TEST(DecideExitsTest, ConfidenceComparesTheProbabilityWithEachLayersThreshold) {
  ExitRule rule = Rule(DepthPolicy::kConfidence, 0, 1, 4, 0.9f);
  rule.thresholds[1] = 0.2f;
  EXPECT_EQ(ExitsOf({rule, rule, rule}, {{0.95f, 0.9f, 0.1f}, {0.1f, 0.3f, 0.2f}, {0, 0, 0.91f}, {0, 0, 0}}),
            (std::vector<int32_t>{1, 2, 3}));
}

TEST(DecideExitsTest, NeverBelowLeast) {
  const ExitRule rule = Rule(DepthPolicy::kConfidence, 0, 3, 5, 0.0f);
  EXPECT_EQ(ExitsOf({rule}, {{1}, {1}, {1}, {1}, {1}}), (std::vector<int32_t>{3}));
}

TEST(DecideExitsTest, ANotANumberRunsToTheEnd) {
  EXPECT_EQ(ExitsOf({Rule(DepthPolicy::kGeometric, 0, 1, 2), Rule(DepthPolicy::kConfidence, 0, 1, 2)},
                    {{NAN, NAN}, {NAN, NAN}}),
            (std::vector<int32_t>{2, 2}));
}

TEST(DecideExitsTest, NoRows) {
  int32_t count = 0, left = -1;
  DecideExits({.active = {nullptr, &count, 4}, .layer = 1, .staying_count = &left});
  EXPECT_EQ(left, 0);
}

TEST(ResolveExitsTest, TakesTheBestLayerWithinTheBounds) {
  const std::vector<ExitRule> rules = {Rule(DepthPolicy::kMultinomial, 0, 1, 4),
                                       Rule(DepthPolicy::kMultinomial, 0, 3, 4), Rule(DepthPolicy::kGeometric, 0, 1, 4),
                                       Rule(DepthPolicy::kMultinomial, 0, 1, 2),
                                       Rule(DepthPolicy::kMultinomial, 0, 1, 4)};
  const std::vector<float> logits = {0, 3, 1, 2,   // 2
                                     9, 0, 0, 0,   // 1, raised to 3
                                     0, 0, 0, 9,   // of another policy
                                     0, 0, 0, 9,   // 4, lowered to 2
                                     5, 1, 5, 5};  // a tie: the lowest
  std::vector<ExitRule> resolved(5);
  resolved[2].at = 77;
  ResolveExits({.rows = Rows::First(5),
                .policy = DepthPolicy::kMultinomial,
                .logits = logits.data(),
                .layers = 4,
                .rules = rules.data(),
                .resolved = resolved.data()});
  EXPECT_EQ(resolved[0].at, 2);
  EXPECT_EQ(resolved[1].at, 3);
  EXPECT_EQ(resolved[2].at, 77);
  EXPECT_EQ(resolved[3].at, 2);
  EXPECT_EQ(resolved[4].at, 1);
  for (int32_t i : {0, 1, 3, 4}) {
    EXPECT_EQ(resolved[i].policy, DepthPolicy::kFixed);
    EXPECT_EQ(resolved[i].least, rules[i].least);
    EXPECT_EQ(resolved[i].greatest, rules[i].greatest);
  }
}

TEST(ResolveExitsTest, InPlaceAndByRowNumber) {
  std::vector<ExitRule> rules(6, Rule(DepthPolicy::kSequence, 0, 1, 3));
  const std::vector<int32_t> index = {1, 4};
  const std::vector<float> logits = {0, 1, 0, 0, 0, 1};
  ResolveExits({.rows = {index.data(), nullptr, 2},
                .policy = DepthPolicy::kSequence,
                .logits = logits.data(),
                .layers = 3,
                .rules = rules.data(),
                .resolved = rules.data()});
  EXPECT_EQ(rules[1].at, 2);
  EXPECT_EQ(rules[4].at, 3);
  EXPECT_EQ(rules[0].policy, DepthPolicy::kSequence);
}

TEST(PickRowsTest, RowsThatWereHeldJoinThoseThatHaveNotLeft) {
  const std::vector<int32_t> held_at = {0, 2, 1, 0, 3, 0}, exit_at = {0, 0, 0, 1, 0, 2};
  const auto running = [&](int32_t layer) {
    std::vector<int32_t> picked(6, -1);
    int32_t count = -1;
    PickRows({.rows = Rows::First(6),
              .filter = RowFilter::kRunning,
              .layer = layer,
              .held_at = held_at.data(),
              .exit_at = exit_at.data(),
              .picked = picked.data(),
              .count = &count});
    picked.resize(count);
    return picked;
  };
  EXPECT_EQ(running(0), (std::vector<int32_t>{0}));
  EXPECT_EQ(running(1), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(running(2), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(running(3), (std::vector<int32_t>{0, 1, 2, 4}));
}

}  // namespace
}  // namespace salient

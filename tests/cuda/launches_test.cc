// How many kernels a decoding step launches, as the emulation counts them, and which ones are left out where nothing
// needs them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/engine.h"
#include "tests/cuda/emulation/emulated_device.h"
#include "tests/cuda/emulation/grid.h"

namespace salient {
namespace {

using Kernels = std::map<std::string, int64_t>;

constexpr const char* kText = "Nobody knew the answer.";

class LaunchesTest : public ::testing::Test {
 protected:
  void Open(const std::string& model) {
    absl::StatusOr<std::unique_ptr<Engine>> made =
        Engine::Create({.model_folder = absl::StrCat(SALIENT_TINY_MODELS, "/", model),
                        .device = "cuda",
                        .compute = ComputeType::kBF16,
                        .max_rows = 16,
                        .encode_tokens = 300,
                        .kv_bytes = 8 << 20});
    ASSERT_TRUE(made.ok()) << made.status();
    engine_ = *std::move(made);
  }

  void Translate(TranslationOptions options) {
    options.search.max_length_ratio = 1.0;  // random weights go on for as long as they may
    const absl::StatusOr<TranslationResult> result = engine_->Translate({.text = kText, .options = options});
    EXPECT_TRUE(result.ok()) << result.status();
  }

  // Kernels of a step of a document alone, which are the same in all its steps: those from the end of a step to the
  // next one's in the same group of steps. The document before left steps under way, so there is one of the same
  // options.
  Kernels OfAStep(const TranslationOptions& options) {
    Translate(options);
    emulation::ForgetKernels();
    Translate(options);
    std::vector<Kernels> steps;
    Kernels step;
    bool whole = false;  // what is noted may begin within a step
    for (const std::string& kernel : emulation::KernelsRun(0)) {
      ++step[kernel];
      if (kernel != "AdvanceArgs") continue;
      if (whole && !step.contains("MergeNewRowsArgs")) steps.push_back(step);
      step.clear();
      whole = true;
    }
    EXPECT_GE(steps.size(), 2u);
    for (const Kernels& other : steps) EXPECT_EQ(other, steps.back());
    return steps.back();
  }
  static int64_t Sum(const Kernels& kernels) {
    int64_t sum = 0;
    for (const auto& [kernel, count] : kernels) sum += count;
    return sum;
  }

  std::unique_ptr<Engine> engine_;
};

// The counting and the copying of fills for each layer above the first, for policies alone that decide token by token;
// also after others have made steps of as many rows, from whose graphs its own differ.
TEST_F(LaunchesTest, FillsAreLeftOutWhereNoKeysCanBeMissing) {
  ASSERT_NO_FATAL_FAILURE(Open("base"));
  constexpr int64_t kAbove = 2;  // layers above the first
  for (const auto& [policy, expected] :
       {std::pair(DepthPolicy::kGeometric, 2 * kAbove), std::pair(DepthPolicy::kFull, int64_t{0}),
        std::pair(DepthPolicy::kConfidence, 2 * kAbove), std::pair(DepthPolicy::kFixed, int64_t{0}),
        std::pair(DepthPolicy::kMultinomial, 2 * kAbove), std::pair(DepthPolicy::kSequence, int64_t{0})}) {
    TranslationOptions options;
    options.depth.policy = policy;
    if (policy == DepthPolicy::kFixed) options.depth.fixed_exit = 2;
    Kernels kernels = OfAStep(options);
    EXPECT_EQ(kernels["CollectFillsArgs"], expected) << static_cast<int>(policy);
  }
}

// At full depth exits are decided after the last layer alone; with exits after each of the three.
TEST_F(LaunchesTest, ExitsAreDecidedWhereARowMayLeave) {
  ASSERT_NO_FATAL_FAILURE(Open("base"));
  for (const auto& [policy, expected] :
       {std::pair(DepthPolicy::kFull, 1), std::pair(DepthPolicy::kGeometric, 3), std::pair(DepthPolicy::kFixed, 3)}) {
    TranslationOptions options;
    options.depth.policy = policy;
    if (policy == DepthPolicy::kFixed) options.depth.fixed_exit = 2;
    EXPECT_EQ(OfAStep(options)["DecideExitsArgs"], expected) << static_cast<int>(policy);
  }
}

// docs/gpu.md has the numbers of a model of six layers. Of each of three layers here: projections, attention and the
// layer after it, for self and for cross-attention; two products of the feed-forward block. Before them the embedding;
// after them the last exits, what is kept of them, norm, output layer, candidates, and the step's end.
TEST_F(LaunchesTest, AStepAtFullDepthIsEightKernelsALayer) {
  ASSERT_NO_FATAL_FAILURE(Open("whole-rows"));
  TranslationOptions options;
  options.selection.policy = SelectionPolicy::kDense;
  Kernels kernels = OfAStep(options);
  EXPECT_EQ(kernels["Projecting"], 9);
  EXPECT_EQ(kernels["RotateArgs"] + kernels["AppendKeyValueArgs"] + kernels["AppendSelectionArgs"], 0);
  EXPECT_EQ(kernels["LayerNormArgs"], 1);
  // The two layers that choose keys for themselves and others, of both kinds, also begin with a selection.
  EXPECT_EQ(Sum(kernels), 1 + 3 * 8 + 4 + 6) << ::testing::PrintToString(kernels);
}

// With post-norm, the norm after a block is the next one's beginning; only that after the last layer is a kernel, and
// those after layers at which rows may leave.
TEST_F(LaunchesTest, NormsAfterBlocksAreInTheNextOnesProjections) {
  ASSERT_NO_FATAL_FAILURE(Open("post"));
  constexpr int32_t kLayers = 3;
  TranslationOptions options;
  options.selection.policy = SelectionPolicy::kDense;
  Kernels kernels = OfAStep(options);
  EXPECT_EQ(kernels["Projecting"], 3 * kLayers);
  EXPECT_EQ(kernels["LayerNormArgs"], 1) << ::testing::PrintToString(kernels);
  options.depth.policy = DepthPolicy::kGeometric;
  kernels = OfAStep(options);
  EXPECT_EQ(kernels["LayerNormArgs"], kLayers) << ::testing::PrintToString(kernels);
}

// The four steps of a group are one graph.
TEST_F(LaunchesTest, AGroupOfStepsIsOneReplay) {
  ASSERT_NO_FATAL_FAILURE(Open("whole-rows"));
  Translate({});  // makes the graphs
  Translate({});
  emulation::ForgetKernels();
  const int64_t before = emulation::Replays();
  Translate({});
  const std::vector<std::string> kernels = emulation::KernelsRun(0);
  const auto groups = std::count(kernels.begin(), kernels.end(), "MergeNewRowsArgs");
  EXPECT_GE(groups, 2);
  EXPECT_NEAR(static_cast<double>(emulation::Replays() - before), static_cast<double>(groups),
              2);  // under way before, after
}

}  // namespace
}  // namespace salient

// Self-speculative decoding: what is drafted and verified is what full depth translates.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/testing/documents.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::EightSettings;
using ::salient::testing::EngineTest;
using ::salient::testing::RandomDocument;
using ::salient::testing::SubmitAll;

// What must be the same however it is found: text, scores and what a trace says, but not what it cost.
std::string Choices(const TranslationResult& result) {
  std::string choices = result.text;
  char number[64];
  for (const TranslatedSegment& segment : result.segments) {
    std::snprintf(number, sizeof(number), "|%a %d %d", segment.score, segment.target_tokens, segment.length_limited);
    choices += number;
    for (const TokenTrace& token : segment.trace) {
      std::snprintf(number, sizeof(number), " %a %d", token.probability, token.exit_layer);
      choices.append(" ").append(token.piece).append(number);
      for (const int32_t position : token.selected) choices.append(",").append(std::to_string(position));
    }
  }
  for (const int64_t count : result.report.exit_histogram) choices.append(" ").append(std::to_string(count));
  return choices;
}

// Drafts of every exit and length, alone, then all of them together with who does not draft.
TEST_P(EngineTest, VerifiedDraftsAreFullDepthBitForBit) {
  std::mt19937 random(21);
  int64_t drafts_taken = 0;
  for (const std::string variant : {"base", "post", "each-layer", "no-selection"}) {
    const std::unique_ptr<Engine> engine = Make(Options(variant));
    ASSERT_NE(engine, nullptr);
    std::vector<TranslationRequest> requests;
    std::vector<std::string> expected;
    std::vector<SelectionOptions> selections = {{.policy = SelectionPolicy::kDense},
                                                {.policy = SelectionPolicy::kWindow, .value = 5}};
    if (variant != "no-selection") {
      selections.push_back({.policy = SelectionPolicy::kLearned});
      selections.push_back({.policy = SelectionPolicy::kRatio, .value = 0.2, .min_keys = 2});
      selections.push_back({.policy = SelectionPolicy::kMass, .value = 0.8, .min_keys = 1});
    }
    for (const SelectionOptions& selection : selections) {
      for (int32_t exit = 1; exit < engine->info().config.decoder.layers; ++exit) {
        for (const int32_t tokens : {1, 3, 7}) {
          TranslationRequest request{.text = RandomDocument(random, 1 + static_cast<int>(random() % 6))};
          request.options.selection = selection;
          request.options.search.max_length_ratio = 1.0;
          if (random() % 4 == 0) request.options.search.prefix = "Das alte Haus";
          request.options.trace = random() % 2 == 0;
          request.options.search.shortlist = engine->info().config.has_shortlist && random() % 2 == 0;
          const absl::StatusOr<TranslationResult> full = engine->Translate(request);
          ASSERT_TRUE(full.ok()) << full.status();
          expected.push_back(Choices(*full));
          request.options.depth = {.policy = DepthPolicy::kVerify, .draft_exit = exit, .draft_tokens = tokens};
          const absl::StatusOr<TranslationResult> verified = engine->Translate(request);
          ASSERT_TRUE(verified.ok()) << verified.status();
          EXPECT_EQ(Choices(*verified), expected.back()) << variant << ", exit " << exit << ", " << tokens << " tokens";
          EXPECT_GE(verified->report.draft_acceptance, 0);
          EXPECT_LE(verified->report.draft_acceptance, 1);
          EXPECT_EQ(verified->report.decoder_flops_full_depth, full->report.decoder_flops_full_depth);
          EXPECT_GE(verified->report.decoder_flops, full->report.decoder_flops);
          drafts_taken += verified->report.draft_acceptance > 0;
          requests.push_back(request);
        }
      }
    }
    for (const TranslationOptions& options : EightSettings()) {
      if (variant != "base") break;
      requests.push_back({.text = RandomDocument(random, 3), .options = options});
      const absl::StatusOr<TranslationResult> alone = engine->Translate(requests.back());
      ASSERT_TRUE(alone.ok()) << alone.status();
      expected.push_back(Choices(*alone));
    }
    const auto listeners = SubmitAll(*engine, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      const absl::StatusOr<TranslationResult>& result = listeners[i]->Wait();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(Choices(*result), expected[i]) << variant << ", request " << i << " among others";
    }
    EXPECT_EQ(engine->status().kv_bytes_used, 0);
  }
  EXPECT_GT(drafts_taken, 0) << "no draft was ever right: nothing was tested";
}

}  // namespace
}  // namespace salient

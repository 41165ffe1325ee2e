// Models of every kind.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"

namespace salient {
namespace {

using ::salient::testing::EngineTest;
using ::testing::HasSubstr;

TEST_P(EngineTest, EveryKindOfModelTranslates) {
  for (const std::string variant : {"post", "wide", "borrowed", "shared-decoder", "each-layer", "no-selection",
                                    "no-exits", "by-segment", "plain", "whole-rows"}) {
    SCOPED_TRACE(variant);
    const std::unique_ptr<Engine> engine = Make(Options(variant));
    ASSERT_NE(engine, nullptr);
    const absl::StatusOr<TranslationResult> result =
        engine->Translate({.text = "We walked along the river. In winter the lake freezes."});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->segments.size(), 2u);
    EXPECT_GT(result->report.target_tokens, 0);
  }
}

TEST_P(EngineTest, AModelWithoutAShortlistSaysSo) {
  const std::unique_ptr<Engine> engine = Make(Options("plain"));
  ASSERT_NE(engine, nullptr);
  EXPECT_FALSE(engine->info().config.has_shortlist);
  TranslationRequest request{.text = "The old house."};
  request.options.search.shortlist = true;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("search.shortlist"));
}

}  // namespace
}  // namespace salient

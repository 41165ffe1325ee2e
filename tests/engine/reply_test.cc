// What comes back of a document: its segments, the text between them, traces.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "engine/text/document.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/testing/documents.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::EngineTest;
using ::salient::testing::RandomDocument;
using ::salient::testing::RecordingListener;

TEST_P(EngineTest, EverySegmentComesBackOnceAndInOrder) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(6);
  const std::string text = RandomDocument(random, 60);  // several chunks
  auto listener = std::make_shared<RecordingListener>();
  ASSERT_TRUE(engine->Submit({.text = text}, listener).ok());
  const absl::StatusOr<TranslationResult>& result = listener->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  const absl::StatusOr<SegmentedDocument> split = SplitDocument(text, Segmentation::kSentences, "en");
  EXPECT_EQ(result->segments.size(), split->segments.size());
  EXPECT_GT(result->report.chunks, 1);
  const std::vector<TranslatedSegment> streamed = listener->segments();
  ASSERT_EQ(streamed.size(), result->segments.size());
  for (size_t i = 0; i < streamed.size(); ++i) {
    EXPECT_EQ(streamed[i].index, static_cast<int32_t>(i));
    EXPECT_EQ(streamed[i].text, result->segments[i].text);
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(result->text.begin(), result->text.end(), '\n'));
  EXPECT_EQ(listener->times_done(), 1);
}

// Beam search finishes segments only with their chunk, and all chunks are decoded side by side.
TEST_P(EngineTest, TheShareOfTheWorkGrowsBeforeAnySegmentIsDone) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(6);
  auto listener = std::make_shared<RecordingListener>();
  TranslationRequest request{.text = RandomDocument(random, 60)};
  request.options.search.beam = 2;
  ASSERT_TRUE(engine->Submit(request, listener).ok());
  ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
  double before = 0, before_segments = 0;
  for (const TranslationProgress& progress : listener->progress()) {
    EXPECT_GE(progress.share_done, before);
    EXPECT_LE(progress.share_done, 1);
    before = progress.share_done;
    if (progress.segments_done == 0) before_segments = progress.share_done;
  }
  EXPECT_GT(before_segments, 0.03);
}

TEST_P(EngineTest, TextWithoutLettersComesBackAsItIs) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  const std::string text = " 12 \n\n - 3.5 %\r\n\t";
  const absl::StatusOr<TranslationResult> result = engine->Translate({.text = text});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text, text);
  EXPECT_EQ(result->report.segments, 0);
}

TEST_P(EngineTest, ATraceTellsExitAndProbabilityOfEveryToken) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  TranslationRequest request{.text = "The train leaves at seven. The lake freezes in winter when it is cold."};
  request.options.trace = true;
  request.options.selection = {.policy = SelectionPolicy::kRatio, .value = 0.1, .min_keys = 2};
  request.options.depth.policy = DepthPolicy::kGeometric;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const TranslatedSegment& segment : result->segments) {
    ASSERT_EQ(static_cast<int32_t>(segment.trace.size()), segment.target_tokens);
    for (const TokenTrace& token : segment.trace) {
      EXPECT_GE(token.exit_layer, 1);
      EXPECT_LE(token.exit_layer, 3);
      EXPECT_GT(token.probability, 0);
      EXPECT_LE(token.probability, 1);
      EXPECT_GE(token.selected.size(), 2u);
    }
  }
}

TEST_P(EngineTest, ATraceTellsPositionsOfTheDocument) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(22);
  TranslationRequest request{.text = RandomDocument(random, 60)};  // several chunks
  request.options.trace = true;
  request.options.selection.policy = SelectionPolicy::kRatio;
  request.options.selection.value = 0.9;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_GT(result->report.chunks, 1);
  const int32_t tokens = result->report.source_tokens + result->report.segments + result->report.chunks;
  int32_t greatest = 0;
  size_t most = 0;
  for (const TranslatedSegment& segment : result->segments) {
    for (const TokenTrace& token : segment.trace) {
      most = std::max(most, token.selected.size());
      EXPECT_TRUE(std::is_sorted(token.selected.begin(), token.selected.end()));
      for (const int32_t position : token.selected) {
        EXPECT_LT(position, tokens);
        greatest = std::max(greatest, position);
      }
    }
  }
  EXPECT_GT(greatest, tokens / 2) << "positions of the chunk would stay below its length";
  EXPECT_EQ(most, static_cast<size_t>(kMaxTracedKeys));
}

}  // namespace
}  // namespace salient

// Translations that end early: cancelled, late, or in flight when the engine is closed.

#include <memory>
#include <random>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "engine/engine.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/testing/documents.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::EngineTest;
using ::salient::testing::RandomDocument;
using ::salient::testing::RecordingListener;

TEST_P(EngineTest, CancelStopsTheWork) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(8);
  auto listener = std::make_shared<RecordingListener>();
  const auto ticket = engine->Submit({.text = RandomDocument(random, 3000)}, listener);
  ASSERT_TRUE(ticket.ok()) << ticket.status();
  (*ticket)->Cancel();
  EXPECT_EQ(listener->Wait().status().code(), absl::StatusCode::kCancelled);
  (*ticket)->Cancel();
  EXPECT_TRUE(engine->Translate({.text = "The answer came late."}).ok());
  EXPECT_EQ(listener->times_done(), 1);
  EXPECT_EQ(engine->status().kv_bytes_used, 0);
}

TEST_P(EngineTest, ADeadlineStopsTheWork) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(9);
  const absl::StatusOr<TranslationResult> result =
      engine->Translate({.text = RandomDocument(random, 3000), .deadline = absl::Now() + absl::Milliseconds(30)});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded) << result.status();
}

TEST_P(EngineTest, ClosingEndsWhatIsInFlight) {
  std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(12);
  auto listener = std::make_shared<RecordingListener>();
  const auto ticket = engine->Submit({.text = RandomDocument(random, 3000)}, listener);
  ASSERT_TRUE(ticket.ok());
  engine.reset();
  EXPECT_TRUE(listener->done());
  EXPECT_EQ(listener->Wait().status().code(), absl::StatusCode::kCancelled);
  (*ticket)->Cancel();  // a ticket outlives its engine
}

}  // namespace
}  // namespace salient

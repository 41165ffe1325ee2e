// Who waits: the bounds of the queue, and the share of each client.

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "engine/engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/testing/documents.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::EngineTest;
using ::salient::testing::HoldingObserver;
using ::salient::testing::RandomDocument;
using ::salient::testing::RecordingListener;
using ::salient::testing::SubmitAll;
using ::testing::HasSubstr;

TEST_P(EngineTest, AFullQueueSaysSo) {
  EngineOptions options = Options();
  options.max_queued_documents = 2;
  HoldingObserver holding;
  const std::unique_ptr<Engine> engine = Make(options, &holding);
  ASSERT_NE(engine, nullptr);
  const absl::Cleanup let_go = [&] { holding.LetGo(); };
  ASSERT_TRUE(engine->Submit({.text = "The train leaves at seven."}, std::make_shared<RecordingListener>()).ok());
  holding.WaitUntilHeld();
  const TranslationRequest request{.text = "The lake freezes in winter."};
  std::vector<std::shared_ptr<RecordingListener>> queued;
  for (int i = 0; i < 2; ++i) {
    queued.push_back(std::make_shared<RecordingListener>());
    ASSERT_TRUE(engine->Submit(request, queued.back()).ok());
  }
  const absl::Status refused = engine->Submit(request, std::make_shared<RecordingListener>()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("queue is full"));
  EXPECT_EQ(engine->status().documents_waiting, 2);
  EXPECT_GT(engine->status().oldest_waiting_seconds, 0);
  holding.LetGo();
  for (const auto& listener : queued) EXPECT_TRUE(listener->Wait().ok()) << listener->Wait().status();
  EXPECT_TRUE(engine->Submit(request, std::make_shared<RecordingListener>()).ok());
}

TEST_P(EngineTest, TheQueueIsBoundedInBytes) {
  EngineOptions options = Options();
  options.max_queued_bytes = 100;
  HoldingObserver holding;
  const std::unique_ptr<Engine> engine = Make(options, &holding);
  ASSERT_NE(engine, nullptr);
  const absl::Cleanup let_go = [&] { holding.LetGo(); };
  ASSERT_TRUE(engine->Submit({.text = "The train leaves at seven."}, std::make_shared<RecordingListener>()).ok());
  holding.WaitUntilHeld();
  std::mt19937 random(19);
  const TranslationRequest large{.text = RandomDocument(random, 10)};
  ASSERT_GT(large.text.size(), 100u);
  const auto first = std::make_shared<RecordingListener>();
  ASSERT_TRUE(engine->Submit(large, first).ok()) << "who finds nobody waiting is taken";
  const absl::Status refused = engine->Submit(large, std::make_shared<RecordingListener>()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("bytes of documents are waiting"));
  holding.LetGo();
  EXPECT_TRUE(first->Wait().ok());
}

// One client has a hundred documents in the queue when another's single one comes.
TEST_P(EngineTest, ABusyClientDoesNotHoldUpAnother) {
  EngineOptions options = Options();
  options.max_rows = 4;
  HoldingObserver holding;
  const std::unique_ptr<Engine> engine = Make(options, &holding);
  ASSERT_NE(engine, nullptr);
  const absl::Cleanup let_go = [&] { holding.LetGo(); };
  std::mt19937 random(20);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 100; ++i) requests.push_back({.text = RandomDocument(random, 2), .client = "busy"});
  const auto busy = SubmitAll(*engine, requests);
  holding.WaitUntilHeld();
  const auto other = SubmitAll(*engine, {{.text = RandomDocument(random, 2), .client = "other"}})[0];
  absl::SleepFor(absl::Milliseconds(100));  // until it is cut
  holding.LetGo();
  ASSERT_TRUE(other->Wait().ok()) << other->Wait().status();
  const auto done = std::count_if(busy.begin(), busy.end(), [](const auto& one) { return one->done(); });
  EXPECT_LE(done, 40) << "of those that came before";
  for (const auto& one : busy) EXPECT_TRUE(one->Wait().ok());
}

TEST_P(EngineTest, WhatCannotFitIsRefusedAtTheDoor) {
  EngineOptions options = Options();
  options.kv_bytes = 1 << 20;
  const std::unique_ptr<Engine> engine = Make(options);
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(11);
  TranslationRequest request{.text = RandomDocument(random, 40)};
  request.options.search.beam = 16;
  request.options.search.max_length_ratio = 20;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("pages of its source's keys"));
  EXPECT_THAT(result.status().message(), HasSubstr("--kv-memory"));
}

}  // namespace
}  // namespace salient

// A translation does not depend on what is translated beside it, nor on how encoding is sliced and how much memory
// there is: the same bits.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
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

using ::salient::testing::EightSettings;
using ::salient::testing::EngineTest;
using ::salient::testing::Fingerprint;
using ::salient::testing::HoldingObserver;
using ::salient::testing::RandomDocument;
using ::salient::testing::RecordingListener;
using ::salient::testing::SubmitAll;

TEST_P(EngineTest, ATranslationIsTheSameAloneAndAmongOthers) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(5);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 32; ++i) {
    requests.push_back(
        {.text = RandomDocument(random, 1 + static_cast<int>(random() % 9)), .options = EightSettings()[i % 8]});
  }
  std::vector<std::string> alone;
  for (const TranslationRequest& request : requests) {
    const absl::StatusOr<TranslationResult> result = engine->Translate(request);
    ASSERT_TRUE(result.ok()) << result.status();
    alone.push_back(Fingerprint(*result));
  }
  for (int round = 0; round < 2; ++round) {
    std::vector<size_t> order(requests.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::shared_ptr<RecordingListener>> listeners(requests.size());
    for (const size_t i : order) {
      listeners[i] = std::make_shared<RecordingListener>();
      ASSERT_TRUE(engine->Submit(requests[i], listeners[i]).ok());
    }
    bool shared = false;
    for (size_t i = 0; i < requests.size(); ++i) {
      const absl::StatusOr<TranslationResult>& result = listeners[i]->Wait();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(Fingerprint(*result), alone[i]) << "document " << i << ", setting " << i % 8;
      shared |= result->report.peak_documents_per_step > 1;
    }
    EXPECT_TRUE(shared) << "no two documents ever shared a step";
  }
}

// Alone a chunk's product is over its list alone, beside others over the vocabulary, or not, as they come. Some
// translations are bound to their lists, some leave by their confidence in them, some do both.
TEST_P(EngineTest, ChunksWithShortlistsAreTheSameAloneAndTogether) {
  for (const std::string variant : {"base", "post"}) {
    const std::unique_ptr<Engine> engine = Make(Options(variant));
    ASSERT_NE(engine, nullptr);
    std::mt19937 random(15);
    std::vector<TranslationRequest> requests;
    for (int i = 0; i < 8; ++i) {
      requests.push_back({.text = RandomDocument(random, 1 + i)});
      requests.back().options.search = {.beam = 1 + i % 3, .max_length_ratio = 1.0, .shortlist = i % 4 != 3};
      if (i % 2 == 1) requests.back().options.depth = {.policy = DepthPolicy::kConfidence, .thresholds = {0.3}};
    }
    std::vector<std::string> alone;
    for (const TranslationRequest& request : requests) {
      const absl::StatusOr<TranslationResult> result = engine->Translate(request);
      ASSERT_TRUE(result.ok()) << result.status();
      alone.push_back(Fingerprint(*result));
    }
    const auto listeners = SubmitAll(*engine, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      const absl::StatusOr<TranslationResult>& result = listeners[i]->Wait();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(Fingerprint(*result), alone[i]) << variant << ", document " << i;
    }
  }
}

class CountingObserver : public HoldingObserver {
 public:
  void OnStall(double) override { ++stalls; }
  void OnPreempt() override { ++preempted; }
  std::atomic<int> stalls = 0, preempted = 0;
};

// With slices of no time at all one range of rows is encoded after each step of those under way.
TEST_P(EngineTest, HowEncodingIsSlicedChangesNothing) {
  std::mt19937 random(15);
  const std::string first = RandomDocument(random, 30);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 12; ++i) {
    requests.push_back({.text = RandomDocument(random, 4 + 8 * (i % 3)), .options = EightSettings()[i % 8]});
  }
  std::vector<std::string> expected;
  std::vector<int> stalls;
  for (const absl::Duration slice : {absl::InfiniteDuration(), absl::Microseconds(200), absl::ZeroDuration()}) {
    EngineOptions options = Options();
    options.encode_slice = slice;
    CountingObserver counter;
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options, &counter);
    ASSERT_TRUE(engine.ok()) << engine.status();
    ASSERT_TRUE((*engine)->Submit({.text = first}, std::make_shared<RecordingListener>()).ok());
    const absl::Cleanup let_go = [&] { counter.LetGo(); };  // also where this test fails
    counter.WaitUntilHeld();                                // so that the others are encoded while this one is decoded
    const auto listeners = SubmitAll(**engine, requests);
    absl::SleepFor(absl::Milliseconds(100));  // until they are cut
    counter.LetGo();
    std::vector<std::string> prints;
    for (const auto& listener : listeners) {
      ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
      prints.push_back(Fingerprint(*listener->Wait()));
    }
    if (expected.empty()) expected = prints;
    EXPECT_EQ(prints, expected) << slice;
    stalls.push_back(counter.stalls);
  }
  EXPECT_GT(stalls[0], 0);
  EXPECT_GT(stalls[2], 2 * stalls[0]);
}

TEST_P(EngineTest, ADocumentCancelledWhileItIsEncodedLeavesTheOthersOfItsPassAlone) {
  EngineOptions options = Options();
  options.encode_slice = absl::ZeroDuration();
  HoldingObserver holding;
  holding.LetGo();
  const std::unique_ptr<Engine> engine = Make(options, &holding);
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(16);
  const TranslationRequest kept{.text = RandomDocument(random, 5)}, cancelled{.text = RandomDocument(random, 5)};
  const absl::StatusOr<TranslationResult> expected = engine->Translate(kept);
  ASSERT_TRUE(expected.ok()) << expected.status();
  holding.HoldAgain();
  ASSERT_TRUE(engine->Submit({.text = RandomDocument(random, 30)}, std::make_shared<RecordingListener>()).ok());
  const absl::Cleanup let_go = [&] { holding.LetGo(); };
  holding.WaitUntilHeld();
  const auto listener = std::make_shared<RecordingListener>();
  const auto cancelling = std::make_shared<RecordingListener>();
  auto ticket = engine->Submit(cancelled, cancelling);
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(engine->Submit(kept, listener).ok());
  absl::SleepFor(absl::Milliseconds(100));  // until they are cut
  holding.LetOneGo();                       // a slice of their pass, and a step of the first
  (*ticket)->Cancel();
  holding.LetGo();
  EXPECT_EQ(cancelling->Wait().status().code(), absl::StatusCode::kCancelled);
  ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
  EXPECT_EQ(Fingerprint(*listener->Wait()), Fingerprint(*expected));
}

// With memory for one or two long translations, those that outgrow what was reserved make others begin anew.
TEST_P(EngineTest, LittleMemoryChangesNothing) {
  std::mt19937 random(17);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 16; ++i) {
    requests.push_back({.text = RandomDocument(random, 2), .options = EightSettings()[i % 8]});
    requests.back().options.search.max_length_ratio = 20;
    requests.back().options.search.prefix = RandomDocument(random, 9);  // longer than what is usual
  }
  EngineOptions options = Options();
  std::vector<std::string> expected;
  const bool wide = GetParam().device == "reference" || GetParam().compute == ComputeType::kF32;
  const int64_t little = GetParam().kv_type.has_value() ? 11 << 18 : wide ? 6 << 20 : 15 << 18;
  for (const int64_t kv_bytes : {options.kv_bytes, little}) {
    options.kv_bytes = kv_bytes;
    CountingObserver counter;
    counter.LetGo();
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options, &counter);
    ASSERT_TRUE(engine.ok()) << engine.status();
    const auto listeners = SubmitAll(**engine, requests);
    std::vector<std::string> prints;
    for (const auto& listener : listeners) {
      ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
      prints.push_back(Fingerprint(*listener->Wait()));
      EXPECT_EQ(listener->segments().size(), listener->Wait()->segments.size());
    }
    EXPECT_EQ((*engine)->status().kv_bytes_used, 0);
    EXPECT_EQ(counter.preempted > 0, !expected.empty()) << counter.preempted;
    if (expected.empty()) expected = prints;
    EXPECT_EQ(prints, expected);
  }
}

}  // namespace
}  // namespace salient

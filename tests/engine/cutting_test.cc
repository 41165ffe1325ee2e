// Documents that workers cut: they hold up nobody, and those that nobody wants any more are not cut.

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "engine/engine.h"
#include "engine/text/document.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::RecordingListener;
using ::salient::testing::SubmitAll;
using ::salient::testing::TinyModel;
using ::testing::HasSubstr;

// Each of the others takes a worker longer to cut than the first takes altogether, and then has too many segments.
TEST(EngineWorkersTest, ARunningTranslationDoesNotWaitUntilOthersAreCut) {
  const absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Create({.model_folder = TinyModel("base"), .device = "cpu"});
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto first = SubmitAll(**engine, {{.text = "The old house stands at the river."}})[0];
  std::string segments;
  while (segments.size() < 2 * kMaxSegments + 2) segments += "a\n";
  const auto others = SubmitAll(**engine, std::vector<TranslationRequest>(12, {.text = segments}));
  ASSERT_TRUE(first->Wait().ok()) << first->Wait().status();
  const auto cut = std::count_if(others.begin(), others.end(), [](const auto& other) { return other->done(); });
  EXPECT_LE(cut, 6);
  for (const auto& other : others) EXPECT_THAT(other->Wait().status().message(), HasSubstr("split the document"));
}

// Holds the worker that tells it of the end.
class HoldingListener : public RecordingListener {
 public:
  void OnDone(absl::StatusOr<TranslationResult> result) override {
    RecordingListener::OnDone(std::move(result));
    let_go_.get_future().wait();
  }
  void LetGo() { let_go_.set_value(); }

 private:
  std::promise<void> let_go_;
};

// An engine whose one worker is held, so that what is submitted stays uncut.
class UncutDocumentsTest : public ::testing::Test {
 protected:
  static constexpr int kMost = 4;  // documents in the queue

  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(
        {.model_folder = TinyModel("base"), .device = "cpu", .max_queued_documents = kMost, .workers = 1});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    ASSERT_TRUE(engine_->Submit({.text = kInvalid}, held_).ok());
    held_->Wait();
  }
  void TearDown() override {
    if (!let_go_) LetGo();
  }
  void LetGo() {
    let_go_ = true;
    held_->LetGo();
  }

  // Until the queue is empty; false if that takes far too long.
  bool Empties() const {
    for (int i = 0; i < 2000 && engine_->status().documents_waiting > 0; ++i) absl::SleepFor(absl::Milliseconds(10));
    return engine_->status().documents_waiting == 0;
  }

  static constexpr char kInvalid[] = "\xff";  // whoever cuts it says so
  const std::shared_ptr<HoldingListener> held_ = std::make_shared<HoldingListener>();
  std::unique_ptr<Engine> engine_;
  bool let_go_ = false;
};

TEST_F(UncutDocumentsTest, WhoIsCancelledLeavesTheQueueAndIsNotCut) {
  std::vector<std::shared_ptr<RecordingListener>> listeners;
  std::vector<std::shared_ptr<TranslationTicket>> tickets;
  for (int i = 0; i < kMost; ++i) {
    listeners.push_back(std::make_shared<RecordingListener>());
    const auto ticket = engine_->Submit({.text = kInvalid}, listeners.back());
    ASSERT_TRUE(ticket.ok()) << ticket.status();
    tickets.push_back(*ticket);
  }
  const TranslationRequest another{.text = "The lake freezes in winter."};
  EXPECT_EQ(engine_->Submit(another, std::make_shared<RecordingListener>()).status().code(),
            absl::StatusCode::kResourceExhausted);
  for (const auto& ticket : tickets) ticket->Cancel();
  EXPECT_TRUE(Empties()) << "cancelled documents keep their places";
  const auto last = SubmitAll(*engine_, {another})[0];
  LetGo();
  EXPECT_TRUE(last->Wait().ok()) << last->Wait().status();
  for (const auto& listener : listeners) {
    EXPECT_EQ(listener->Wait().status().code(), absl::StatusCode::kCancelled) << listener->Wait().status();
  }
  engine_.reset();
  for (const auto& listener : listeners) EXPECT_EQ(listener->times_done(), 1);
}

TEST_F(UncutDocumentsTest, WhoIsLateLeavesTheQueueAndIsNotCut) {
  const auto listener = std::make_shared<RecordingListener>();
  ASSERT_TRUE(engine_->Submit({.text = kInvalid, .deadline = absl::Now() + absl::Milliseconds(50)}, listener).ok());
  EXPECT_TRUE(Empties()) << "a late document keeps its place";
  LetGo();
  EXPECT_EQ(listener->Wait().status().code(), absl::StatusCode::kDeadlineExceeded) << listener->Wait().status();
  engine_.reset();
  EXPECT_EQ(listener->times_done(), 1);
}

}  // namespace
}  // namespace salient

#include "engine/submission_queue.h"

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::RecordingListener;

Submission Document(size_t bytes, absl::Time deadline = absl::InfiniteFuture()) {
  return {
      {.text = std::string(bytes, 'a'), .deadline = deadline}, {}, absl::Now(), std::make_shared<RecordingListener>()};
}

EngineOptions BytesQueued(int64_t most) {
  EngineOptions options;
  options.max_queued_bytes = most;
  return options;
}

EngineStatus Described(const SubmissionQueue& queue) {
  EngineStatus status;
  queue.Describe(absl::Now(), status);
  return status;
}

TEST(SubmissionQueueTest, WhoWaitsNoLongerGivesItsBytesBack) {
  SubmissionQueue queue(BytesQueued(100));
  const auto first = queue.Enter(Document(90));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(queue.Enter(Document(20)).status().message(), ::testing::HasSubstr("90 bytes of documents are waiting"));
  ASSERT_TRUE(queue.Enter(Document(10)).ok());
  EXPECT_TRUE(queue.StopWaiting(*first));
  EXPECT_FALSE(queue.StopWaiting(*first));
  EXPECT_TRUE(queue.Enter(Document(90)).ok());
  EXPECT_FALSE(queue.Enter(Document(1)).ok());
}

TEST(SubmissionQueueTest, WhoIsWithdrawnIsNotCutAndHoldsNothing) {
  SubmissionQueue queue(BytesQueued(100));
  Submission submission = Document(90);
  const std::shared_ptr<TranslationListener> listener = submission.listener;
  const auto document = queue.Enter(std::move(submission));
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(queue.Withdraw(*document), listener);
  EXPECT_EQ(listener.use_count(), 1) << "the document is still held";
  EXPECT_EQ(queue.Withdraw(*document), nullptr);
  EXPECT_FALSE(queue.TakeToCut(*document).has_value());
  EXPECT_EQ(Described(queue).documents_waiting, 0);
  EXPECT_EQ(Described(queue).tokens_waiting, 0);
  ASSERT_TRUE(queue.Enter(Document(100)).ok());
}

TEST(SubmissionQueueTest, WhoIsWithdrawnWhileItIsCutIsNotDelivered) {
  SubmissionQueue queue(BytesQueued(100));
  const auto document = queue.Enter(Document(90));
  ASSERT_TRUE(document.ok()) << document.status();
  const std::optional<Submission> taken = queue.TakeToCut(*document);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->request.text.size(), 90u);
  EXPECT_EQ(Described(queue).documents_waiting, 1);
  EXPECT_EQ(queue.Withdraw(*document), taken->listener);
  EXPECT_EQ(Described(queue).documents_waiting, 0);
  Arrival arrival{*document, nullptr, {{.source_tokens = 20}}};
  EXPECT_FALSE(queue.Deliver(arrival).ok());
  EXPECT_FALSE(queue.StopWaiting(*document)) << "its listener would be told twice";
  EXPECT_EQ(queue.TakeArrivals().size(), 0u);
  EXPECT_EQ(Described(queue).tokens_waiting, 0);
}

TEST(SubmissionQueueTest, WhoIsCutIsNotWithdrawn) {
  SubmissionQueue queue(BytesQueued(100));
  const absl::Time deadline = absl::Now() + absl::Hours(1);
  const auto document = queue.Enter(Document(90, deadline));
  ASSERT_TRUE(document.ok()) << document.status();
  ASSERT_TRUE(queue.TakeToCut(*document).has_value());
  Arrival arrival{*document, nullptr, {{.source_tokens = 20}}};
  ASSERT_TRUE(queue.Deliver(arrival).ok());
  EXPECT_EQ(queue.Withdraw(*document), nullptr);
  EXPECT_TRUE(queue.WithdrawLate(deadline).empty());
  EXPECT_TRUE(queue.waits(*document));
  EXPECT_EQ(queue.TakeArrivals().size(), 1u);
}

TEST(SubmissionQueueTest, WhoIsLateIsWithdrawn) {
  SubmissionQueue queue(BytesQueued(100));
  EXPECT_EQ(queue.next_deadline(), absl::InfiniteFuture());
  const absl::Time soon = absl::Now() + absl::Hours(1), later = soon + absl::Hours(1);
  std::vector<std::shared_ptr<TranslationListener>> listeners;
  for (const absl::Time deadline : {later, soon, absl::InfiniteFuture(), soon}) {
    Submission submission = Document(25, deadline);
    listeners.push_back(submission.listener);
    ASSERT_TRUE(queue.Enter(std::move(submission)).ok());
  }
  EXPECT_EQ(queue.next_deadline(), soon);
  EXPECT_TRUE(queue.WithdrawLate(soon - absl::Seconds(1)).empty());
  EXPECT_THAT(queue.WithdrawLate(soon), ::testing::ElementsAre(listeners[1], listeners[3]));
  EXPECT_EQ(queue.next_deadline(), later);
  EXPECT_EQ(Described(queue).documents_waiting, 2);
  EXPECT_EQ(queue.Withdraw(0), listeners[0]);
  EXPECT_EQ(queue.next_deadline(), absl::InfiniteFuture());
  EXPECT_TRUE(queue.Enter(Document(75)).ok());
}

// Their workers tell them why.
TEST(SubmissionQueueTest, WhoIsNotCutAtTheEndIsStillTheWorkers) {
  SubmissionQueue queue(BytesQueued(100));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.Enter(Document(20)).ok());
  for (const int64_t document : {0, 1}) ASSERT_TRUE(queue.TakeToCut(document).has_value());
  Arrival arrival;
  ASSERT_TRUE(queue.Deliver(arrival).ok());
  EXPECT_EQ(queue.End(absl::UnavailableError("broken")).size(), 1u);
  EXPECT_FALSE(queue.StopWaiting(0));
  arrival.document = 1;
  EXPECT_EQ(queue.Deliver(arrival), absl::UnavailableError("broken"));
  EXPECT_TRUE(queue.StopWaiting(1));
  EXPECT_TRUE(queue.TakeToCut(2).has_value());
  EXPECT_TRUE(queue.StopWaiting(2));
  EXPECT_EQ(Described(queue).tokens_waiting, 0);
  EXPECT_EQ(queue.Enter(Document(1)).status(), absl::UnavailableError("broken"));
}

}  // namespace
}  // namespace salient

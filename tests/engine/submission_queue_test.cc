#include "engine/submission_queue.h"

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

TEST(SubmissionQueueTest, WhoWaitsNoLongerGivesItsBytesBack) {
  EngineOptions options;
  options.max_queued_bytes = 100;
  SubmissionQueue queue(options);
  const auto first = queue.Enter(90, absl::Now());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(queue.Enter(20, absl::Now()).status().message(), testing::HasSubstr("90 bytes of documents are waiting"));
  ASSERT_TRUE(queue.Enter(10, absl::Now()).ok());
  queue.StopWaiting(*first);
  EXPECT_TRUE(queue.Enter(90, absl::Now()).ok());
  EXPECT_FALSE(queue.Enter(1, absl::Now()).ok());
}

}  // namespace
}  // namespace salient

#include "server/admission_retry_queue.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "gmock/gmock.h"

namespace salient {
namespace {

using ::testing::ElementsAre;

// Numbers as they arrive.
class Log {
 public:
  void Add(int number) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      numbers_.push_back(number);
    }
    changed_.notify_all();
  }
  std::vector<int> WaitFor(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return numbers_.size() >= count; });
    return numbers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> numbers_;
};

TEST(AdmissionRetryQueueTest, FirstComeFirstServed) {
  Log admitted;
  std::atomic<int> places = 0;
  const int queue = 0;
  AdmissionRetryQueue room;  // last: its thread may still be within an attempt, which touches the others
  for (int i = 0; i < 3; ++i) {
    room.Wait(&queue, [&, i] {
      if (places == 0) return false;
      --places;
      admitted.Add(i);
      return true;
    });
  }
  places = 2;
  room.Nudge();
  EXPECT_THAT(admitted.WaitFor(2), ElementsAre(0, 1));
  places = 1;
  room.Nudge();
  EXPECT_THAT(admitted.WaitFor(3), ElementsAre(0, 1, 2));
}

TEST(AdmissionRetryQueueTest, AFullEngineHoldsUpNobodyElses) {
  Log admitted;
  const int full = 0, free = 0;
  AdmissionRetryQueue room;
  room.Wait(&full, [] { return false; });
  room.Wait(&free, [&admitted] {
    admitted.Add(7);
    return true;
  });
  EXPECT_THAT(admitted.WaitFor(1), ElementsAre(7));
}

// A place may fall free without anybody's saying so.
TEST(AdmissionRetryQueueTest, LooksByItself) {
  Log tries;
  const int queue = 0;
  std::atomic<int> count = 0;
  AdmissionRetryQueue room;
  room.Wait(&queue, [&] {
    tries.Add(++count);
    return count == 3;
  });
  EXPECT_THAT(tries.WaitFor(3), ElementsAre(1, 2, 3));
}

TEST(AdmissionRetryQueueTest, WhoStillWaitsAtTheEndIsDropped) {
  const int queue = 0;
  auto held = std::make_shared<int>(0);
  {
    AdmissionRetryQueue room;
    room.Wait(&queue, [held] { return false; });
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace salient

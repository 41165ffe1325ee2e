#include "server/admission/retry_queue.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "gmock/gmock.h"

namespace salient {
namespace {

using ::testing::ElementsAre;

bool Never() { return false; }

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
    const auto attempt = [&, i] {
      if (places == 0) return false;
      --places;
      admitted.Add(i);
      return true;
    };
    room.Wait(&queue, i == 1 ? "another" : "client", {attempt, Never});
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
  room.Wait(&full, "client", {Never, Never});
  const auto attempt = [&admitted] {
    admitted.Add(7);
    return true;
  };
  room.Wait(&free, "client", {attempt, Never});
  EXPECT_THAT(admitted.WaitFor(1), ElementsAre(7));
}

TEST(AdmissionRetryQueueTest, AClientAtItsLimitHoldsUpNobodyElse) {
  Log admitted;
  const int queue = 0;
  AdmissionRetryQueue room;
  room.Wait(&queue, "limited", {Never, Never});
  for (int i = 0; i < 2; ++i) {
    const auto attempt = [&admitted, i] {
      admitted.Add(i);
      return true;
    };
    room.Wait(&queue, "another", {attempt, Never});
  }
  EXPECT_THAT(admitted.WaitFor(2), ElementsAre(0, 1));
}

TEST(AdmissionRetryQueueTest, WhatIsOverEndsWhereverItStands) {
  Log ended;
  const int queue = 0;
  std::atomic<bool> cancelled = false;
  AdmissionRetryQueue room;
  room.Wait(&queue, "client", {Never, Never});
  const auto attempt = [&] {
    if (cancelled) ended.Add(2);
    return cancelled.load();
  };
  room.Wait(&queue, "client", {attempt, [&cancelled] { return cancelled.load(); }});
  cancelled = true;
  room.Nudge();
  EXPECT_THAT(ended.WaitFor(1), ElementsAre(2));
}

// A place may fall free without anybody's saying so.
TEST(AdmissionRetryQueueTest, LooksByItself) {
  Log tries;
  const int queue = 0;
  std::atomic<int> count = 0;
  AdmissionRetryQueue room;
  const auto attempt = [&] {
    tries.Add(++count);
    return count == 3;
  };
  room.Wait(&queue, "client", {attempt, Never});
  EXPECT_THAT(tries.WaitFor(3), ElementsAre(1, 2, 3));
}

TEST(AdmissionRetryQueueTest, WhoStillWaitsAtTheEndIsDropped) {
  const int queue = 0;
  auto held = std::make_shared<int>(0);
  {
    AdmissionRetryQueue room;
    room.Wait(&queue, "client", {[held] { return false; }, Never});
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace salient

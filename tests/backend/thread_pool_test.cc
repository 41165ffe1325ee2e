#include "engine/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "engine/base/parallel.h"

namespace salient {
namespace {

TEST(ThreadPoolTest, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(tasks);
      pool.ParallelFor(tasks, [&](int64_t i, int thread) {
        ASSERT_GE(thread, 0);
        ASSERT_LT(thread, threads);
        runs[i].fetch_add(1);
      });
      for (int64_t i = 0; i < tasks; ++i) EXPECT_EQ(runs[i].load(), 1) << i << " of " << tasks;
    }
  }
}

// Plain memory, written by workers and read by the caller and by the next loop: what the thread sanitizer is to judge.
// The loops are short, so that late threads of one meet the next.
TEST(ThreadPoolTest, ManyShortLoopsSeeEachOthersWrites) {
  ThreadPool pool(4);
  std::vector<int64_t> values(5, 0);
  for (int64_t loop = 1; loop <= 20000; ++loop) {
    const size_t tasks = 2 + loop % 4;
    pool.ParallelFor(static_cast<int64_t>(tasks), [&](int64_t i, int) { values[i] += loop; });
    int64_t sum = 0;
    for (size_t i = 0; i < tasks; ++i) sum += values[i];
    ASSERT_GT(sum, 0);
  }
  int64_t expected = 0;
  for (int64_t loop = 1; loop <= 20000; ++loop) expected += loop;
  EXPECT_EQ(values[0], expected);
  EXPECT_EQ(values[1], expected);
}

TEST(ThreadPoolTest, WorkersThatSleptJoinAgain) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::mutex mutex;
    std::set<int> threads;
    // Two tasks that wait for each other need two threads.
    std::atomic<int> arrived{0};
    pool.ParallelFor(2, [&](int64_t, int thread) {
      arrived.fetch_add(1);
      while (arrived.load() < 2) std::this_thread::yield();
      std::lock_guard lock(mutex);
      threads.insert(thread);
    });
    EXPECT_EQ(threads, (std::set<int>{0, 1}));
  }
}

TEST(ThreadPoolTest, EndsWhileWorkersSpinOrSleep) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(3);
    if (i % 2 == 0) pool.ParallelFor(10, [](int64_t, int) {});
    if (i % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ParallelRangesTest, CoversAllRowsOnce) {
  ThreadPool pool(3);
  for (int64_t rows : {0, 1, 5, 100, 1001}) {
    for (int64_t work : {int64_t{0}, int64_t{1}, int64_t{1} << 20}) {
      std::vector<std::atomic<int>> seen(rows);
      ParallelRanges(pool, rows, work, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) seen[i].fetch_add(1);
      });
      for (const std::atomic<int>& count : seen) EXPECT_EQ(count.load(), 1);
    }
  }
}

}  // namespace
}  // namespace salient

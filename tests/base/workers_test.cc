#include "engine/base/workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace salient {
namespace {

TEST(WorkersTest, DoWhatIsLeftBeforeTheyEnd) {
  std::atomic<int> done = 0;
  {
    Workers workers(3);
    for (int i = 0; i < 1000; ++i) workers.Post([&] { ++done; });
    workers.Post([&] { workers.Post([&] { ++done; }); });
  }
  EXPECT_EQ(done, 1001);
}

TEST(WorkersTest, ALaneKeepsItsOrderAndNeverRunsTwice) {
  constexpr int kLanes = 8, kTasks = 2000;
  std::vector<std::vector<int>> seen(kLanes);
  std::vector<std::atomic<int>> inside(kLanes);
  std::atomic<int> overlaps = 0;
  {
    Workers workers(4);
    std::vector<std::shared_ptr<Lane>> lanes;
    for (int lane = 0; lane < kLanes; ++lane) lanes.push_back(std::make_shared<Lane>(workers));
    for (int i = 0; i < kTasks; ++i) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane]->Post([&, lane, i] {
          overlaps += inside[lane].fetch_add(1) != 0;
          seen[lane].push_back(i);
          inside[lane].fetch_sub(1);
        });
      }
    }
  }  // a lane lives until its last task is done
  EXPECT_EQ(overlaps, 0);
  for (const std::vector<int>& order : seen) {
    ASSERT_EQ(order.size(), static_cast<size_t>(kTasks));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
}

TEST(WorkersTest, TasksOfOneNameLeaveTheOtherWorkersFree) {
  std::promise<void> go_on;
  const std::shared_future<void> may_go_on = go_on.get_future().share();
  std::promise<void> others_done;
  std::vector<int> order;
  {
    Workers workers(2);
    NamedLanes lanes(workers);
    for (int i = 0; i < 3; ++i) {
      lanes.Post("busy", [&order, i, may_go_on] {
        may_go_on.wait();
        order.push_back(i);
      });
    }
    lanes.Post("other", [&] { others_done.set_value(); });
    EXPECT_EQ(others_done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    go_on.set_value();
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace salient

#include "engine/base/workers.h"

#include <algorithm>
#include <atomic>
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

}  // namespace
}  // namespace salient

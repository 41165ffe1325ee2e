#include "engine/base/memory_share.h"

#include <filesystem>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// A machine's proc and sys as files.
class MemoryLimitTest : public ::testing::Test {
 protected:
  void File(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ / path).parent_path());
    WriteFile(root_ / path, text);
  }
  int64_t Limit() const { return MemoryLimit(root_.path()); }

  const TempFolder root_;
};

TEST_F(MemoryLimitTest, NothingToReadIsNoLimit) { EXPECT_EQ(Limit(), kNoLimit); }

TEST_F(MemoryLimitTest, TheMachinesMemory) {
  File("proc/meminfo", "MemFree:  100 kB\nMemTotal:   2000 kB\n");
  EXPECT_EQ(Limit(), 2000 * 1024);
}

TEST_F(MemoryLimitTest, TheLeastOfMachineAndGroupsHolds) {
  File("proc/meminfo", "MemTotal: 2000 kB\n");
  File("proc/self/cgroup", "0::/pod/server\n");
  File("sys/fs/cgroup/pod/memory.max", "500000\n");
  File("sys/fs/cgroup/pod/server/memory.max", "max\n");
  EXPECT_EQ(Limit(), 500000);
  File("sys/fs/cgroup/pod/memory.max", "5000000\n");
  EXPECT_EQ(Limit(), 2000 * 1024);
}

TEST_F(MemoryLimitTest, Version1) {
  File("proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/1\n");
  File("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "1000000\n");
  EXPECT_EQ(Limit(), 1000000);
  File("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_GT(Limit(), int64_t{1} << 60);
}

TEST_F(MemoryLimitTest, WhatMakesNoSenseIsNoLimit) {
  File("proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "0", "-1", "many", "1e", "nan"}) {
    File("sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(Limit(), kNoLimit) << text;
  }
  File("proc/meminfo", "MemTotal: many kB\n");
  EXPECT_EQ(Limit(), kNoLimit);
}

TEST(MemoryShareTest, ThisMachineHasSome) { EXPECT_GT(MemoryLimit(), 1 << 20); }

}  // namespace
}  // namespace salient

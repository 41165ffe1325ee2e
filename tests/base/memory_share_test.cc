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
class AvailableMemoryTest : public ::testing::Test {
 protected:
  void File(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ / path).parent_path());
    WriteFile(root_ / path, text);
  }
  int64_t Available() const { return AvailableMemory(root_.path()); }

  const TempFolder root_;
};

TEST_F(AvailableMemoryTest, NothingToReadIsNoLimit) { EXPECT_EQ(Available(), kNoLimit); }

TEST_F(AvailableMemoryTest, TheMachinesMemory) {
  File("proc/meminfo", "MemTotal:   2000 kB\nMemFree:  100 kB\nMemAvailable:   700 kB\nBuffers: 5 kB\n");
  EXPECT_EQ(Available(), 700 * 1024);
  File("proc/meminfo", "MemFree:  100 kB\nMemTotal:   2000 kB\n");
  EXPECT_EQ(Available(), 2000 * 1024) << "an old kernel";
}

TEST_F(AvailableMemoryTest, WhatAGroupUsesIsNotAvailableButItsCacheIs) {
  File("proc/self/cgroup", "0::/pod\n");
  File("sys/fs/cgroup/pod/memory.max", "500000\n");
  File("sys/fs/cgroup/pod/memory.current", "450000\n");
  EXPECT_EQ(Available(), 50000);
  File("sys/fs/cgroup/pod/memory.stat", "anon 300000\nfile 150000\ninactive_file 120000\nactive_file 30000\n");
  EXPECT_EQ(Available(), 170000);
  File("proc/meminfo", "MemAvailable: 100 kB\n");
  EXPECT_EQ(Available(), 100 * 1024);
  File("sys/fs/cgroup/pod/memory.current", "650000\n");  // the limit was lowered
  EXPECT_EQ(Available(), 0);
  File("sys/fs/cgroup/pod/memory.max", "max\n");
  EXPECT_EQ(Available(), 100 * 1024);
}

TEST_F(AvailableMemoryTest, AGroupAboveMayHaveLessLeft) {
  File("proc/self/cgroup", "0::/pod/server\n");
  File("sys/fs/cgroup/pod/memory.max", "600000\n");
  File("sys/fs/cgroup/pod/memory.current", "550000\n");
  File("sys/fs/cgroup/pod/server/memory.max", "500000\n");
  File("sys/fs/cgroup/pod/server/memory.current", "100000\n");
  EXPECT_EQ(Available(), 50000);
}

TEST_F(AvailableMemoryTest, TheLeastOfMachineAndGroupsHolds) {
  File("proc/meminfo", "MemTotal: 2000 kB\n");
  File("proc/self/cgroup", "0::/pod/server\n");
  File("sys/fs/cgroup/pod/memory.max", "500000\n");
  File("sys/fs/cgroup/pod/server/memory.max", "max\n");
  EXPECT_EQ(Available(), 500000);
  File("sys/fs/cgroup/pod/memory.max", "5000000\n");
  EXPECT_EQ(Available(), 2000 * 1024);
}

TEST_F(AvailableMemoryTest, Version1) {
  File("proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/1\n");
  File("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "1000000\n");
  EXPECT_EQ(Available(), 1000000);
  File("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_GT(Available(), int64_t{1} << 60);
}

TEST_F(AvailableMemoryTest, WhatAGroupOfVersion1Uses) {
  File("proc/self/cgroup", "4:memory:/docker/1\n");
  File("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "1000000\n");
  File("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "900000\n");
  File("sys/fs/cgroup/memory/docker/1/memory.stat", "inactive_file 100000\n");
  EXPECT_EQ(Available(), 200000);
  File("sys/fs/cgroup/memory/docker/1/memory.stat", "inactive_file 100000\ntotal_inactive_file 300000\n");
  EXPECT_EQ(Available(), 400000);
}

TEST_F(AvailableMemoryTest, WhatMakesNoSenseIsNoLimit) {
  File("proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "0", "-1", "many", "1e", "nan"}) {
    File("sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(Available(), kNoLimit) << text;
  }
  File("proc/meminfo", "MemTotal: many kB\n");
  EXPECT_EQ(Available(), kNoLimit);
}

TEST(MemoryShareTest, ThisMachineHasSome) { EXPECT_GT(AvailableMemory(), 1 << 20); }

}  // namespace
}  // namespace salient

#include "engine/base/cpu_share.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

// A machine's proc and sys as files.
class CpuQuotaTest : public testing::Test {
 protected:
  void File(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ / path).parent_path());
    WriteFile(root_ / path, text);
  }
  double Quota() const { return CpuQuota(root_.path()); }

  const TempFolder root_;
};

TEST_F(CpuQuotaTest, NothingToReadIsNoLimit) { EXPECT_TRUE(std::isinf(Quota())); }

TEST_F(CpuQuotaTest, Version2) {
  File("proc/self/cgroup", "0::/\n");
  File("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(Quota(), 1.5);
  File("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(Quota()));
}

TEST_F(CpuQuotaTest, TheLeastOnTheWayUpHolds) {
  File("proc/self/cgroup", "0::/kubepods/pod1/server\n");
  File("sys/fs/cgroup/kubepods/cpu.max", "6400000 100000\n");
  File("sys/fs/cgroup/kubepods/pod1/cpu.max", "200000 100000\n");
  File("sys/fs/cgroup/kubepods/pod1/server/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(Quota(), 2);
}

TEST_F(CpuQuotaTest, Version1) {
  File("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/1\n0::/\n");
  File("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "50000\n");
  File("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(Quota(), 0.5);
  File("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "-1\n");
  EXPECT_TRUE(std::isinf(Quota()));
}

TEST_F(CpuQuotaTest, WhereThePathIsTheHostsTheMountIsTheContainers) {
  File("proc/self/cgroup", "4:cpu:/docker/1\n");
  File("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  File("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(Quota(), 3);
}

TEST_F(CpuQuotaTest, WhatMakesNoSenseIsNoLimit) {
  File("proc/self/cgroup", "nonsense\n0::/\n1:cpu\n0::/../../etc\n");
  for (const char* text : {"", "0 100000", "-5 100000", "100000 0", "100000", "1e 100000", "nan 100000"}) {
    File("sys/fs/cgroup/cpu.max", text);
    EXPECT_TRUE(std::isinf(Quota())) << text;
  }
}

TEST(CpuShareTest, ThreadsFollowAffinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const int core = AllowedCores().back();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(AllowedCores(), std::vector<int>{core});
  EXPECT_EQ(DefaultThreads(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(CpuShareTest, AllOfTheMachinesCoresAreNobodysOwn) {
  const bool has_all = static_cast<int64_t>(AllowedCores().size()) == sysconf(_SC_NPROCESSORS_ONLN);
  EXPECT_FALSE(has_all && OwnsItsCores());
}

}  // namespace
}  // namespace salient

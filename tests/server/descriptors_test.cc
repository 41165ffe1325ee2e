#include "server/descriptors.h"

#include <sys/resource.h>

#include "gtest/gtest.h"

namespace salient {
namespace {

TEST(DescriptorsTest, TheProcessGetsAsManyAsItMayHave) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), static_cast<int64_t>(before.rlim_max));
  rlimit now = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace salient

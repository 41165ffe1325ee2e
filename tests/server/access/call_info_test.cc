#include "server/access/call_info.h"

#include "gtest/gtest.h"

namespace salient {
namespace {

TEST(CallInfoTest, TakesAGoodRequestIdAndMakesOneOtherwise) {
  EXPECT_EQ(RequestId("a.B_1:/+=-"), "a.B_1:/+=-");
  for (const std::string& bad : {std::string(), std::string(129, 'a'), std::string("a b"), std::string("a\"b"),
                                 std::string("a\nb"), std::string("\xc3\xa4")}) {
    EXPECT_EQ(RequestId(bad).size(), 16u) << bad;
    EXPECT_NE(RequestId(bad), RequestId(bad));
  }
}

TEST(CallInfoTest, TakesATraceparentOrNothing) {
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_EQ(TraceParent(good), good);
  EXPECT_EQ(TraceParent(""), "");
  EXPECT_EQ(TraceParent(good + "0"), "");
  EXPECT_EQ(TraceParent("ff" + good.substr(2)), "");
  EXPECT_EQ(TraceParent("00-" + std::string(32, '0') + good.substr(35)), "");
  EXPECT_EQ(TraceParent(good.substr(0, 36) + std::string(16, '0') + good.substr(52)), "");
  for (const size_t at : {0, 2, 10, 35, 40, 52, 54}) {
    std::string bad = good;
    bad[at] = '\n';
    EXPECT_EQ(TraceParent(bad), "") << at;
  }
}

TEST(CallInfoTest, AddressesWithoutTheirPorts) {
  EXPECT_EQ(AddressOf("ipv4:127.0.0.1:3456"), "127.0.0.1");
  EXPECT_EQ(AddressOf("ipv6:[::1]:3456"), "::1");
  EXPECT_EQ(AddressOf("ipv6:%5B::1%5D:3456"), "::1");
  EXPECT_EQ(AddressOf("unix:"), "unix:");
  EXPECT_EQ(AddressOf(""), "");
}

}  // namespace
}  // namespace salient

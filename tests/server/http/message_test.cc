#include "server/http/message.h"

#include "gtest/gtest.h"

namespace salient {
namespace {

TEST(MessageTest, SplitsAndDecodesATarget) {
  HttpRequest request;
  ASSERT_TRUE(ParseTarget("/v1/models/a%20b+c?x=1&y=a+b%26c&z&x=2", request));
  EXPECT_EQ(request.path, "/v1/models/a b+c");
  EXPECT_EQ(request.query,
            (std::multimap<std::string, std::string>{{"x", "1"}, {"x", "2"}, {"y", "a b&c"}, {"z", ""}}));
  EXPECT_EQ(request.query_value("x"), "2") << "the last";
  EXPECT_EQ(request.query_value("z"), "");
  EXPECT_FALSE(request.query_value("w").has_value());
  ASSERT_TRUE(ParseTarget("/%41", request));
  EXPECT_EQ(request.path, "/A");
  ASSERT_TRUE(ParseTarget("http://host:8080/v1/models?x=1", request));
  EXPECT_EQ(request.path, "/v1/models");
  EXPECT_EQ(request.query, (std::multimap<std::string, std::string>{{"x", "1"}}));
  ASSERT_TRUE(ParseTarget("HTTPS://host", request));
  EXPECT_EQ(request.path, "/");
}

TEST(MessageTest, RefusesWhatIsNoPath) {
  HttpRequest request;
  for (const char* target :
       {"", "http://host?x=/v1/models", "v1", "ftp://host/", "/%", "/%4", "/%g1", "/a?b=%z0", "*"}) {
    EXPECT_FALSE(ParseTarget(target, request)) << target;
  }
}

TEST(MessageTest, HeaderNamesHaveNoCase) {
  HttpRequest request;
  request.headers.emplace("X-Api-Key", "key");
  EXPECT_EQ(request.header("x-api-KEY"), "key");
  EXPECT_EQ(request.header("x"), "");
}

TEST(MessageTest, TheHeaderSaysWhetherABodyFollows) {
  const auto has_body = [](const std::string& name, const std::string& value) {
    HttpRequest request;
    request.headers.emplace(name, value);
    return request.has_body();
  };
  EXPECT_FALSE(has_body("Host", "h"));
  EXPECT_FALSE(has_body("content-length", "0"));
  EXPECT_TRUE(has_body("content-length", "1"));
  EXPECT_TRUE(has_body("Transfer-Encoding", "chunked"));
}

}  // namespace
}  // namespace salient

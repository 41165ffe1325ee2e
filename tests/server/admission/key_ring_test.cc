#include "server/admission/key_ring.h"

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

constexpr char kKey[] = "0123456789abcdef";
constexpr char kOther[] = "fedcba9876543210";

Client One(const std::string& line) {
  const auto keys = KeyRing::Parse(line, "keys");
  EXPECT_TRUE(keys.ok()) << keys.status();
  return keys.ok() ? keys->at(0).second : Client{};
}

TEST(KeyRingTest, AKeyAloneIsItsOwnClient) {
  const Client client = One(kKey);
  EXPECT_EQ(client.kind, Client::Kind::kKey);
  EXPECT_EQ(client.name.size(), 8u);
  EXPECT_EQ(client.limits, ClientLimits{});
  EXPECT_NE(One(kOther).name, client.name);
}

TEST(KeyRingTest, NamesAndLimits) {
  const Client client = One(std::string("# who\n\n ") + kKey +
                            "\tname=team.a weight=2.5 tokens-per-minute=60000 documents=8  # theirs\r\n");
  EXPECT_EQ(client.name, "team.a");
  EXPECT_EQ(client.limits, (ClientLimits{2.5, 60000, 8}));
}

TEST(KeyRingTest, SeveralKeysOfOneName) {
  const std::string two = std::string(kKey) + " name=a weight=2\n" + kOther + " name=a weight=";
  EXPECT_TRUE(KeyRing::Parse(two + "2", "keys").ok());
  EXPECT_THAT(KeyRing::Parse(two + "3", "keys").status().message(), HasSubstr("line 2: other limits"));
}

TEST(KeyRingTest, SaysWhatIsWrongAndWhere) {
  const auto complaint = [](const std::string& text) {
    const auto keys = KeyRing::Parse(text, "keys");
    EXPECT_FALSE(keys.ok()) << text;
    return std::string(keys.status().message());
  };
  EXPECT_THAT(complaint(""), HasSubstr("no key"));
  EXPECT_THAT(complaint("\n\nshort"), HasSubstr("line 3: the key has 5 characters"));
  for (const char* word : {"name=", "name=a/b", "weight=0", "weight=1e9", "weight=nan", "weight",
                           "tokens-per-minute=-1", "documents=0", "documents=x", "color=red"}) {
    EXPECT_THAT(complaint(std::string(kKey) + " " + word), HasSubstr(std::string("'") + word + "' is none of")) << word;
  }
  EXPECT_THAT(complaint(std::string(kKey) + "\n" + kKey), HasSubstr("twice"));
}

TEST(KeyRingTest, AnotherFileOfTheSameTimeIsRead) {
  const TempFolder folder;
  const std::string path = folder / "keys", next = folder / "next";
  WriteFile(path, kKey);
  WriteFile(next, kOther);
  std::filesystem::last_write_time(next, std::filesystem::last_write_time(path));
  const auto ring = KeyRing::Open(path);
  ASSERT_TRUE(ring.ok()) << ring.status();
  std::filesystem::rename(next, path);
  EXPECT_FALSE((*ring)->Find(kKey).has_value());
  EXPECT_TRUE((*ring)->Find(kOther).has_value());
}

}  // namespace
}  // namespace salient

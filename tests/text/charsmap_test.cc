#include "engine/text/charsmap.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/made_charsmap.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

const std::string kEnd(1, '\0');

TEST(CharsmapTest, MapsThatCanBeWalkedAreTaken) {
  EXPECT_EQ(CheckCharsmap(MadeCharsmap().Add("a", 0).Bytes("b" + kEnd)), "");
  EXPECT_EQ(CheckCharsmap(MadeCharsmap().Add("a", 0).Add("ab", 2).Add("b", 0).Bytes("x" + kEnd + kEnd)), "");
  EXPECT_EQ(CheckCharsmap(MadeCharsmap().Bytes(kEnd)), "") << "no rules";
}

TEST(CharsmapTest, WhatIsCutOffIsRefused) {
  EXPECT_EQ(CheckCharsmap(""), "it has no trie");
  EXPECT_EQ(CheckCharsmap("\1"), "it has no trie");
  const std::string whole = MadeCharsmap().Add("a", 0).Bytes("b" + kEnd);
  EXPECT_EQ(CheckCharsmap(whole.substr(0, whole.size() - 1)), "its last replacement has no end");
  for (size_t size = 4; size + 1 < whole.size(); size += 7) EXPECT_NE(CheckCharsmap(whole.substr(0, size)), "") << size;
  EXPECT_EQ(CheckCharsmap(std::string((4 << 20) + 1, 'x')), "it has more than 4194304 bytes");
}

TEST(CharsmapTest, TriesThatLeaveThemselvesAreRefused) {
  const std::string outside = "its trie refers to units that it does not have";
  MadeCharsmap map;
  map.Add("a", 0);
  map.units['a'] |= 5 << 20;  // an offset beyond the end
  EXPECT_EQ(CheckCharsmap(map.Bytes("b" + kEnd)), outside);
  MadeCharsmap root;
  root.units[0] = 5 << 20 | 0x80000000;
  EXPECT_EQ(CheckCharsmap(root.Bytes("b" + kEnd)), outside);
  MadeCharsmap unreached;
  unreached.units[17] = 0x7FFFFF11;
  EXPECT_EQ(CheckCharsmap(unreached.Bytes("b" + kEnd)), outside) << "whatever leads there";
  EXPECT_EQ(CheckCharsmap(std::string("\4\0\0\0\0\0\0\0", 8) + kEnd), outside) << "a block of 256 units is not whole";
}

TEST(CharsmapTest, TriesWithoutAnEndAreRefused) {
  MadeCharsmap map;
  map.Add("ab", 0);
  map.units[256 + 'b'] = 'b' | static_cast<uint32_t>((256 + 'b') ^ 256) << 10;  // leads back to the state after "a"
  EXPECT_THAT(CheckCharsmap(map.Bytes("b" + kEnd)), HasSubstr("rules of more than 512 bytes"));
  EXPECT_EQ(CheckCharsmap(MadeCharsmap().Add(std::string(512, 'a'), 0).Bytes("b" + kEnd)), "");
  EXPECT_THAT(CheckCharsmap(MadeCharsmap().Add(std::string(513, 'a'), 0).Bytes("b" + kEnd)), HasSubstr("512 bytes"));
}

TEST(CharsmapTest, NoMoreMatchesThanTheLibraryHasRoomFor) {
  MadeCharsmap map;
  for (size_t i = 1; i <= 32; ++i) map.Add(std::string(i, 'a'), 0);
  map.Add("b", 0);
  EXPECT_EQ(CheckCharsmap(map.Bytes("b" + kEnd)), "");
  map.Add(std::string(33, 'a'), 0);
  EXPECT_EQ(CheckCharsmap(map.Bytes("b" + kEnd)), "more than 32 of its rules begin with one another");
}

TEST(CharsmapTest, ReplacementsAreThereAndShortAndText) {
  const MadeCharsmap at_3 = MadeCharsmap().Add("a", 3);
  EXPECT_EQ(CheckCharsmap(at_3.Bytes("abc" + kEnd)), "") << "an empty one";
  EXPECT_EQ(CheckCharsmap(at_3.Bytes("ab" + kEnd)), "its trie refers to replacements that it does not have");
  const MadeCharsmap map = MadeCharsmap().Add("a", 0);
  EXPECT_EQ(CheckCharsmap(map.Bytes(std::string(64, 'x') + kEnd)), "");
  EXPECT_EQ(CheckCharsmap(map.Bytes(std::string(65, 'x') + kEnd)), "it has a replacement of more than 64 bytes");
  EXPECT_EQ(CheckCharsmap(map.Bytes("\xC3" + kEnd)), "it has a replacement that is not UTF-8");
}

}  // namespace
}  // namespace salient

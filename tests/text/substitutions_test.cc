#include "engine/text/substitutions.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace salient {
namespace {

const std::string kText = "one two three";
const std::vector<Substitution> kChanges = {{0, 3, "1"}, {4, 7, "second"}, {8, 9, ""}};  // "1 second hree"

TEST(SubstitutionsTest, PartsAreReplaced) {
  EXPECT_EQ(Substituted(kText, kChanges), "1 second hree");
  EXPECT_EQ(Substituted(kText, {}), kText);
  EXPECT_EQ(Substituted("", {}), "");
  EXPECT_EQ(Substituted("ab", {{0, 1, "x"}, {1, 2, "y"}}), "xy");
}

TEST(SubstitutionsTest, BytesMoveWithTheTextAroundThem) {
  const Moves to = Moves::To(kChanges), back = Moves::Back(kChanges);
  EXPECT_EQ(to.Begin(3), 1u);
  EXPECT_EQ(to.Begin(9), 9u);  // "hree"
  EXPECT_EQ(to.End(13), 13u);
  EXPECT_EQ(back.End(9), 8u);
  EXPECT_EQ(back.Begin(9), 8u);  // with the "t" that was left out
  EXPECT_EQ(back.End(13), 13u);
  EXPECT_EQ(back.Begin(1), 3u);
}

TEST(SubstitutionsTest, BytesThatWereReplacedAreAtTheEnds) {
  const Moves to = Moves::To(kChanges), back = Moves::Back(kChanges);
  for (size_t at = 4; at < 7; ++at) {
    EXPECT_EQ(to.Begin(at), 2u) << at;
    EXPECT_EQ(to.End(at + 1), 8u) << at;
  }
  for (size_t at = 2; at < 8; ++at) {
    EXPECT_EQ(back.Begin(at), 4u) << at;
    EXPECT_EQ(back.End(at + 1), 7u) << at;
  }
}

TEST(SubstitutionsTest, ThereAndBackIsTheSameOutsideOfThem) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string text(40, 'a');
    std::vector<Substitution> changes;
    for (size_t at = random() % 8; at < text.size(); at += random() % 8) {
      const size_t end = std::min(text.size(), at + 1 + random() % 5);
      changes.push_back({at, end, std::string(random() % 6, 'b')});
      at = end;
    }
    const std::string changed = Substituted(text, changes);
    const Moves to = Moves::To(changes), back = Moves::Back(changes);
    std::vector<bool> within(text.size() + 1);
    for (const Substitution& change : changes) {
      for (size_t at = change.begin; at < change.end; ++at) within[at] = true;
    }
    for (size_t at = 0; at < text.size(); ++at) {
      EXPECT_LE(to.Begin(at), to.End(at + 1));
      EXPECT_LE(to.End(at + 1), changed.size());
      if (within[at]) continue;
      EXPECT_EQ(changed[to.Begin(at)], 'a');
      EXPECT_EQ(to.End(at + 1), to.Begin(at) + 1);
      EXPECT_EQ(back.End(to.End(at + 1)), at + 1);
    }
  }
}

}  // namespace
}  // namespace salient

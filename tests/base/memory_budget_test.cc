#include "engine/base/memory_budget.h"

#include "gtest/gtest.h"

namespace salient {
namespace {

struct Party {
  explicit Party(MemoryBudget& budget) : member(budget, [this] { ++told; }) {}
  int told = 0;
  MemoryBudget::Member member;
};

TEST(MemoryBudgetTest, OneMayHaveAllOfIt) {
  MemoryBudget budget(100);
  Party a(budget), b(budget);
  EXPECT_TRUE(a.member.TakeInLine(60));
  EXPECT_TRUE(a.member.TakeInLine(40));
  EXPECT_EQ(budget.taken(), 100);
  EXPECT_FALSE(a.member.others_wait());
  EXPECT_FALSE(b.member.TakeInLine(1));
  EXPECT_TRUE(a.member.others_wait());
  EXPECT_FALSE(b.member.others_wait()) << "it is the first in line itself";
  EXPECT_EQ(a.told, 1) << "so that it gives back what it does not use";
}

TEST(MemoryBudgetTest, WhoWaitsIsToldWhenMemoryComesBackAndOthersGetNothingNewBefore) {
  MemoryBudget budget(100);
  Party a(budget), b(budget);
  ASSERT_TRUE(a.member.TakeInLine(90));
  ASSERT_FALSE(b.member.TakeInLine(50));
  EXPECT_FALSE(a.member.TakeInLine(10)) << "there are 10, but b waits";
  EXPECT_TRUE(a.member.TakeOutOfLine(10)) << "what has begun may grow";
  const int told = b.told;
  a.member.GiveBack(60);
  EXPECT_EQ(b.told, told + 1);
  EXPECT_TRUE(b.member.TakeInLine(50));
  EXPECT_TRUE(a.member.TakeInLine(10)) << "its turn, since b has what it asked for";
}

TEST(MemoryBudgetTest, TheLineIsInOrder) {
  MemoryBudget budget(100);
  Party a(budget), b(budget), c(budget);
  ASSERT_TRUE(a.member.TakeInLine(100));
  ASSERT_FALSE(b.member.TakeInLine(80));
  ASSERT_FALSE(c.member.TakeInLine(10));
  a.member.GiveBack(50);
  EXPECT_FALSE(c.member.TakeInLine(10)) << "there is enough for c, but b would starve";
  a.member.GiveBack(50);
  EXPECT_TRUE(b.member.TakeInLine(80));
  EXPECT_TRUE(c.member.TakeInLine(10));
}

TEST(MemoryBudgetTest, WhoDoesNotWantAnyMoreLetsTheNextOneGo) {
  MemoryBudget budget(100);
  Party a(budget), b(budget), c(budget);
  ASSERT_TRUE(a.member.TakeInLine(90));
  ASSERT_FALSE(b.member.TakeInLine(80));
  ASSERT_FALSE(c.member.TakeInLine(10));
  const int told = c.told;
  b.member.StopWaiting();
  EXPECT_EQ(c.told, told + 1);
  EXPECT_TRUE(c.member.TakeInLine(10));
}

TEST(MemoryBudgetTest, WhoLeavesGivesBackEverything) {
  MemoryBudget budget(100);
  Party a(budget);
  {
    Party b(budget);
    ASSERT_TRUE(b.member.TakeInLine(100));
    ASSERT_FALSE(a.member.TakeInLine(100));
  }
  EXPECT_EQ(budget.taken(), 0);
  EXPECT_TRUE(a.member.TakeInLine(100));
}

TEST(MemoryBudgetTest, MoreThanThereIsGetsItAlone) {
  MemoryBudget budget(100);
  Party a(budget), b(budget);
  ASSERT_TRUE(b.member.TakeInLine(1));
  EXPECT_FALSE(a.member.TakeInLine(150));
  b.member.GiveBack(1);
  EXPECT_TRUE(a.member.TakeInLine(150));
}

}  // namespace
}  // namespace salient

#include "engine/core/page_pool.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "gmock/gmock.h"

namespace salient {
namespace {

using ::testing::ElementsAre;

struct Party {
  explicit Party(PagePool& pool, int32_t page_units = 1) : share(pool, page_units, [this] { ++told; }) {}
  // Asks for so many pages in all, as a scheduler does, and takes them.
  bool Begin(int32_t pages) {
    share.BeginAsking();
    const bool answer = share.Cover(pages);
    share.EndAsking();
    return answer;
  }
  std::vector<int32_t> TakeAll() {
    std::vector<int32_t> pages;
    while (share.taken() < share.held()) pages.push_back(share.Take());
    return pages;
  }
  int told = 0;
  PageShare share;
};

TEST(PagePoolTest, OneMayHaveAllOfIt) {
  PagePool pool(nullptr, 100);
  Party a(pool), b(pool);
  EXPECT_EQ(a.share.most(), 100);
  EXPECT_TRUE(a.Begin(60));
  EXPECT_TRUE(a.Begin(100));
  EXPECT_EQ(a.share.held(), 100);
  EXPECT_EQ(pool.taken(), 100);
  EXPECT_FALSE(a.share.wanted());
  EXPECT_FALSE(b.Begin(1));
  EXPECT_TRUE(a.share.wanted());
  EXPECT_TRUE(b.share.waiting());
  EXPECT_EQ(a.told, 1) << "so that it gives back what it does not use";
}

TEST(PagePoolTest, WhoWaitsIsToldWhenPagesComeBackAndOthersGetNothingNewBefore) {
  PagePool pool(nullptr, 100);
  Party a(pool), b(pool);
  ASSERT_TRUE(a.Begin(90));
  ASSERT_FALSE(b.Begin(50));
  EXPECT_FALSE(a.Begin(100)) << "there are 10, but b waits";
  EXPECT_TRUE(a.share.Grow(100)) << "what has begun may grow";
  const int told = b.told;
  a.share.Keep(40);
  EXPECT_EQ(b.told, told + 1);
  EXPECT_TRUE(b.Begin(50));
  EXPECT_TRUE(a.Begin(50)) << "its turn, since b has what it asked for";
}

TEST(PagePoolTest, TheLineIsInOrder) {
  PagePool pool(nullptr, 100);
  Party a(pool), b(pool), c(pool);
  ASSERT_TRUE(a.Begin(100));
  ASSERT_FALSE(b.Begin(80));
  ASSERT_FALSE(c.Begin(10));
  a.share.Keep(50);
  EXPECT_FALSE(c.Begin(10)) << "there is enough for c, but b would starve";
  a.share.Keep(0);
  EXPECT_TRUE(b.Begin(80));
  EXPECT_TRUE(c.Begin(10));
}

TEST(PagePoolTest, WhoDoesNotWantAnyMoreLetsTheNextOneGo) {
  PagePool pool(nullptr, 100);
  Party a(pool), b(pool), c(pool);
  ASSERT_TRUE(a.Begin(90));
  ASSERT_FALSE(b.Begin(80));
  ASSERT_FALSE(c.Begin(10));
  const int told = c.told;
  b.share.StopWaiting();
  EXPECT_EQ(c.told, told + 1);
  EXPECT_TRUE(c.Begin(10));
}

TEST(PagePoolTest, WhoLeavesGivesBackEverything) {
  PagePool pool(nullptr, 100);
  Party a(pool);
  {
    Party b(pool, 7);
    ASSERT_TRUE(b.Begin(14));
    b.share.Take();
    ASSERT_FALSE(a.Begin(100));
  }
  EXPECT_EQ(pool.taken(), 0);
  EXPECT_TRUE(a.Begin(100));
}

TEST(PagePoolTest, PagesOfDifferentSizesLieSideBySide) {
  PagePool pool(nullptr, 20);
  Party a(pool, 3), b(pool, 5);
  ASSERT_TRUE(a.Begin(2));
  ASSERT_TRUE(b.Begin(2));
  ASSERT_TRUE(a.Begin(3));
  EXPECT_THAT(a.TakeAll(), ElementsAre(0, 3, 16));
  EXPECT_THAT(b.TakeAll(), ElementsAre(6, 11));
  EXPECT_EQ(pool.taken(), 19);
  EXPECT_EQ(a.share.most(), 6);
  EXPECT_EQ(b.share.most(), 4);
}

// All that are asked for, or none.
TEST(PagePoolTest, FreeExtentsThatAreTooSmallAreAsGoodAsNone) {
  PagePool pool(nullptr, 12);
  Party a(pool, 3), b(pool, 4);
  ASSERT_TRUE(a.Begin(4));
  a.TakeAll();
  a.share.Return({0, 6});
  EXPECT_FALSE(b.Begin(1)) << "a holds them";
  a.share.Keep(2);
  EXPECT_EQ(pool.taken(), 6);
  EXPECT_FALSE(b.Begin(1)) << "twice three units";
  EXPECT_EQ(b.share.held(), 0);
  EXPECT_TRUE(b.share.waiting());
  a.share.Return({3});
  a.share.Keep(1);
  EXPECT_TRUE(b.Begin(1)) << "nine units one after another";
  EXPECT_FALSE(b.Begin(3));
  EXPECT_EQ(b.share.held(), 1);
}

TEST(PagePoolTest, ExtentsJoinOnBothSides) {
  for (const std::vector<int32_t>& order : {std::vector<int32_t>{0, 2, 4}, {4, 2, 0}, {0, 4, 2}, {2, 4, 0}}) {
    PagePool pool(nullptr, 6);
    Party a(pool, 2), b(pool, 6);
    ASSERT_TRUE(a.Begin(3));
    ASSERT_THAT(a.TakeAll(), ElementsAre(0, 2, 4));
    for (const int32_t page : order) {
      ASSERT_FALSE(b.Begin(1));
      a.share.Return({page});
      a.share.Keep(0);
    }
    EXPECT_TRUE(b.Begin(1)) << ::testing::PrintToString(order);
  }
}

// Another's pages were between those that it has: it gets more only when its own free ones join the others.
TEST(PagePoolTest, WhoWaitsGivesBackWhatItDoesNotUseToo) {
  PagePool pool(nullptr, 12);
  Party a(pool, 4), b(pool, 1);
  ASSERT_TRUE(b.Begin(1));
  ASSERT_TRUE(a.Begin(2));
  ASSERT_THAT(a.TakeAll(), ElementsAre(1, 5));
  b.share.Keep(0);
  a.share.Return({1, 5});
  EXPECT_FALSE(a.Begin(3)) << "1 and 3 units are free";
  EXPECT_TRUE(a.share.wanted());
  a.share.Keep(0);
  EXPECT_TRUE(a.Begin(3));
}

TEST(PagePoolTest, PagesThatAreInUseStay) {
  PagePool pool(nullptr, 10);
  Party a(pool);
  ASSERT_TRUE(a.Begin(4));
  const std::vector<int32_t> taken = {a.share.Take(), a.share.Take()};
  a.share.Keep(0);
  EXPECT_EQ(a.share.held(), 2);
  EXPECT_EQ(pool.taken(), 2);
  a.share.Return(taken);
  a.share.Keep(0);
  EXPECT_EQ(pool.taken(), 0);
}

// What was used is used again first: it has memory.
TEST(PagePoolTest, ThePageThatWasUsedLastIsTakenNext) {
  PagePool pool(nullptr, 10);
  Party a(pool);
  ASSERT_TRUE(a.Begin(4));
  EXPECT_EQ(a.share.Take(), 0);
  EXPECT_EQ(a.share.Take(), 1);
  a.share.Return({1});
  ASSERT_TRUE(a.Begin(6));
  EXPECT_THAT(a.TakeAll(), ElementsAre(1, 2, 3, 4, 5));
}

// Many shares of many page sizes: no two pages ever overlap, what is counted is what is held, and in the end the whole
// is one extent again.
TEST(PagePoolTest, NoTwoPagesOverlap) {
  constexpr int32_t kUnits = 500;
  PagePool pool(nullptr, kUnits);
  std::mt19937 random(5);
  std::vector<std::unique_ptr<Party>> parties;
  std::vector<int32_t> sizes = {1, 3, 7, 16, 40};
  for (const int32_t size : sizes) parties.push_back(std::make_unique<Party>(pool, size));
  std::vector<std::vector<int32_t>> taken(sizes.size());
  int waited = 0;
  for (int round = 0; round < 20000; ++round) {
    const size_t i = random() % sizes.size();
    PageShare& share = parties[i]->share;
    if (random() % 2 == 0) {
      const int32_t more = 1 + static_cast<int32_t>(random() % 4);
      const bool got = random() % 2 == 0 ? parties[i]->Begin(share.taken() + more) : share.Grow(share.taken() + more);
      waited += !got;
      for (int32_t n = 0; got && n < more; ++n) taken[i].push_back(share.Take());
    } else if (!taken[i].empty()) {
      std::swap(taken[i][random() % taken[i].size()], taken[i].back());
      share.Return({taken[i].back()});
      taken[i].pop_back();
    }
    if (share.wanted()) share.Keep(share.taken());
    std::vector<int> owners(kUnits);
    int32_t held = 0;
    for (size_t p = 0; p < sizes.size(); ++p) {
      held += parties[p]->share.held() * sizes[p];
      for (const int32_t page : taken[p]) {
        ASSERT_LE(page + sizes[p], kUnits);
        for (int32_t unit = page; unit < page + sizes[p]; ++unit) ASSERT_EQ(owners[unit]++, 0);
      }
    }
    ASSERT_EQ(pool.taken(), held);
  }
  EXPECT_GT(waited, 100) << "there was always enough: nothing was tested";
  parties.clear();
  EXPECT_EQ(pool.taken(), 0);
  Party whole(pool, kUnits);
  EXPECT_TRUE(whole.Begin(1));
}

}  // namespace
}  // namespace salient

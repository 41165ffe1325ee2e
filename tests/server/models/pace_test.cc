#include "server/models/pace.h"

#include "gtest/gtest.h"

namespace salient {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);
absl::Time After(double seconds) { return kStart + absl::Seconds(seconds); }

TEST(PaceTest, AsMeasuredUntilADocumentHasFinished) {
  Pace pace;
  EXPECT_EQ(pace.Expected(2), 2);
  EXPECT_EQ(pace.Expected(0), 0);
}

TEST(PaceTest, ASlowerMachineIsLearned) {
  Pace pace;
  pace.Begin(1, kStart)->Learn(1, After(3));
  EXPECT_DOUBLE_EQ(pace.Expected(2), 6);
  for (int i = 0; i < 100; ++i) pace.Begin(1, kStart)->Learn(1, After(0.5));
  EXPECT_NEAR(pace.Expected(2), 1, 0.01) << "it became faster";
}

TEST(PaceTest, LongDocumentsCountMoreThanShortOnes) {
  Pace pace;
  pace.Begin(10, kStart)->Learn(10, After(20));
  pace.Begin(0.001, kStart)->Learn(0.001, After(0.1));  // most of it is no translation
  EXPECT_NEAR(pace.Expected(10), 20, 0.5);
}

TEST(PaceTest, WhatIsUnderWayCounts) {
  Pace pace;
  const auto first = pace.Begin(3, kStart);
  {
    const auto second = pace.Begin(4, kStart);
    EXPECT_DOUBLE_EQ(pace.Expected(1), 8);
  }
  EXPECT_DOUBLE_EQ(pace.Expected(1), 4);
}

TEST(PaceTest, DocumentsThatShareStepsAreLearnedApartFromThoseAlone) {
  Pace pace;
  pace.Begin(1, kStart)->Learn(1, After(2));
  auto first = pace.Begin(10, kStart);
  auto second = pace.Begin(10, kStart);
  second->Learn(10, After(5));  // a quarter of the 20 seconds in turn
  EXPECT_DOUBLE_EQ(pace.Expected(0.5), (20 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(pace.Expected(10), 20) << "no document is faster than alone";
  first->Learn(10, After(30));  // another began after it, so it was not alone
  first = nullptr;
  second = nullptr;
  EXPECT_DOUBLE_EQ(pace.Expected(1), 2);
}

}  // namespace
}  // namespace salient

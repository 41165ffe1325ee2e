#include "engine/schedule/scheduler.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

constexpr Scheduler::Limits kLimits{
    .rows = 8, .self_pages = 100, .cross_pages = 40, .encode_tokens = 1000, .encode_windows = 4};

Demand Window(int32_t tokens, int32_t rows = 1) { return {rows, 10, 4, tokens}; }

std::vector<int64_t> AdmitAll(Scheduler& scheduler) {
  std::vector<int64_t> documents;
  scheduler.BeginPass();
  while (const auto admission = scheduler.Admit()) documents.push_back(admission->document);
  return documents;
}

TEST(SchedulerTest, AdmitsInOrderOfArrival) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Window(10)});
  scheduler.Enqueue(2, {Window(10)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1, 2));
  EXPECT_TRUE(scheduler.idle());
}

TEST(SchedulerTest, DocumentsTakeTurnsWindowByWindow) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Window(10), Window(10), Window(10)});
  scheduler.Enqueue(2, {Window(10)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1, 2, 1, 1));
}

TEST(SchedulerTest, EncodingBudgetIsAPassesOwn) {
  Scheduler scheduler(kLimits);
  for (int64_t document = 0; document < 3; ++document) scheduler.Enqueue(document, {Window(600)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(0));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, AWindowBeyondTheBudgetJoinsAlone) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Window(5000)});
  scheduler.Enqueue(2, {Window(1)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, WaitsForRowsAndPagesThatAreReserved) {
  Scheduler scheduler(kLimits);
  const Demand wide = Window(10, 8);
  scheduler.Enqueue(1, {wide});
  scheduler.Enqueue(2, {Window(10)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  EXPECT_THAT(AdmitAll(scheduler), testing::IsEmpty());
  scheduler.Release(wide);
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, TheFrontIsNotOvertakenForever) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Window(10)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  scheduler.Enqueue(2, {Window(10, 8)});
  scheduler.Enqueue(3, {Window(10)});
  EXPECT_THAT(AdmitAll(scheduler), testing::IsEmpty());  // 3 would fit, but 2 came first
  scheduler.Release(Window(10));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, CancelForgetsWindowsThatWait) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Window(900), Window(900)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  scheduler.Cancel(1);
  EXPECT_TRUE(scheduler.idle());
}

TEST(SchedulerTest, CountsDocumentsThatWait) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Window(900), Window(900)});
  scheduler.Enqueue(2, {Window(900)});
  EXPECT_EQ(scheduler.untouched(), 2);
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  EXPECT_EQ(scheduler.untouched(), 1);
}

TEST(SchedulerTest, SaysWhatCouldNeverFit) {
  const Scheduler scheduler(kLimits);
  EXPECT_TRUE(scheduler.CouldFit({8, 100, 40, 99999}));
  EXPECT_FALSE(scheduler.CouldFit({9, 1, 1, 1}));
  EXPECT_FALSE(scheduler.CouldFit({1, 101, 1, 1}));
  EXPECT_FALSE(scheduler.CouldFit({1, 1, 41, 1}));
}

// Whatever comes and goes: limits hold at every moment and everything is admitted in the end.
TEST(SchedulerTest, RandomLoadStaysWithinLimitsAndDrains) {
  std::mt19937 random(7);
  Scheduler scheduler(kLimits);
  std::vector<std::vector<Demand>> documents;
  std::vector<Demand> running;
  size_t admitted = 0, windows = 0;
  for (int step = 0; step < 5000 && (step < 300 || admitted < windows); ++step) {
    if (step < 300) {
      std::vector<Demand> demands;
      for (uint32_t w = 0; w < 1 + random() % 3; ++w) {
        demands.push_back({1 + static_cast<int32_t>(random() % 4), 1 + static_cast<int32_t>(random() % 50),
                           1 + static_cast<int32_t>(random() % 20), 1 + static_cast<int32_t>(random() % 1500)});
      }
      windows += demands.size();
      scheduler.Enqueue(static_cast<int64_t>(documents.size()), demands);
      documents.push_back(demands);
    }
    scheduler.BeginPass();
    int32_t encoded = 0, joined = 0;
    while (const auto admission = scheduler.Admit()) {
      const Demand& demand = documents[admission->document][admission->window];
      running.push_back(demand);
      encoded += demand.source_tokens;
      ++joined;
      ++admitted;
    }
    EXPECT_TRUE(joined <= 1 || encoded <= kLimits.encode_tokens);
    Demand total;
    for (const Demand& demand : running) {
      total.rows += demand.rows;
      total.self_pages += demand.self_pages;
      total.cross_pages += demand.cross_pages;
    }
    ASSERT_TRUE(scheduler.CouldFit(total));
    if (!running.empty() && random() % 2 == 0) {
      const size_t leaves = random() % running.size();
      scheduler.Release(running[leaves]);
      running.erase(running.begin() + static_cast<int64_t>(leaves));
    }
  }
  EXPECT_EQ(admitted, windows);
}

}  // namespace
}  // namespace salient

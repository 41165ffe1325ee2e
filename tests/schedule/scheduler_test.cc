#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "engine/core/page_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

constexpr Scheduler::Limits kLimits{
    .rows = 8, .self_pages = 100, .cross_pages = 40, .encode_tokens = 1000, .encode_chunks = 4};

Demand Chunk(int32_t tokens, int32_t rows = 1) { return {rows, 10, 4, tokens, 10}; }

// Usually 10 pages, at most `most`.
Demand Growing(int32_t most) { return {1, most, 4, 10, 10}; }

// A pass of the encoder: which documents' chunks are in it.
std::vector<int64_t> AdmitAll(Scheduler& scheduler) {
  std::vector<int64_t> documents;
  scheduler.BeginPass();
  while (const auto admitted = scheduler.Admit()) documents.push_back(admitted->document);
  return documents;
}

// The pass is done. Chunks are as deep as their documents' numbers, less their hundreds.
void EndPass(Scheduler& scheduler) {
  for (const ChunkId& id : scheduler.Encoding()) {
    scheduler.MarkEncoded(id, static_cast<int32_t>(id.document % 100));
  }
}

std::vector<int64_t> ScheduleAll(Scheduler& scheduler) {
  std::vector<int64_t> documents;
  while (const auto scheduled = scheduler.ScheduleNext()) documents.push_back(scheduled->document);
  return documents;
}

// A pass, and who begins to be decoded after it.
std::vector<int64_t> Begin(Scheduler& scheduler) {
  AdmitAll(scheduler);
  EndPass(scheduler);
  return ScheduleAll(scheduler);
}

TEST(SchedulerTest, AdmitsInOrderOfArrival) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Chunk(10)});
  scheduler.Enqueue(2, {Chunk(10)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1, 2));
  EXPECT_EQ(scheduler.tokens_waiting(), 0);
}

TEST(SchedulerTest, DocumentsTakeTurnsChunkByChunk) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Chunk(10), Chunk(10), Chunk(10)});
  scheduler.Enqueue(2, {Chunk(10)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1, 2, 1, 1));
}

// Everything, a chunk a pass, as long as anything waits: whose chunks come after one another.
std::vector<int64_t> DrainOneByOne(Scheduler& scheduler, size_t most = 1000000) {
  std::vector<int64_t> order;
  while (scheduler.tokens_waiting() > 0 && order.size() < most) {
    scheduler.BeginPass();
    const auto admitted = scheduler.Admit();
    EXPECT_TRUE(admitted.has_value());
    if (!admitted.has_value()) break;
    order.push_back(admitted->document);
    scheduler.MarkEncoded(*admitted, 1);
    scheduler.Release(*admitted);
  }
  return order;
}

TEST(SchedulerTest, AThousandDocumentsOfOneClientHoldUpNobody) {
  Scheduler scheduler(kLimits);
  for (int64_t document = 0; document < 1000; ++document) scheduler.Enqueue(document, {Chunk(500)}, {.client = "busy"});
  EXPECT_THAT(DrainOneByOne(scheduler, 3), testing::ElementsAre(0, 1, 2));
  scheduler.Enqueue(5000, {Chunk(500)}, {.client = "other"});
  EXPECT_EQ(scheduler.tokens_waiting(), 998 * 500);
  const std::vector<int64_t> order = DrainOneByOne(scheduler);
  EXPECT_LE(std::find(order.begin(), order.end(), 5000) - order.begin(), 1) << "after the chunk whose turn it is";
  EXPECT_EQ(order.size(), 998u);
  EXPECT_EQ(scheduler.tokens_waiting(), 0);
}

// A step decodes every scheduled chunk once; a chunk takes kChunkSteps of them. Before each step an encoder pass ends.
constexpr int kChunkSteps = 30;

// How many steps one document of one chunk takes, from its arrival on, that comes after `arrival` steps to a thousand
// documents of the client `others`.
int StepsBesideAThousand(const std::string& others, int arrival) {
  constexpr int64_t kOne = 5000;
  Scheduler scheduler({.rows = 4, .self_pages = 100, .cross_pages = 100, .encode_tokens = 1000, .encode_chunks = 100});
  for (int64_t document = 0; document < 1000; ++document) scheduler.Enqueue(document, {Chunk(500)}, {.client = others});
  std::map<int64_t, int> steps_left;  // of the documents that are decoded
  for (int step = 0;; ++step) {
    if (step == arrival) scheduler.Enqueue(kOne, {Chunk(500)}, {.client = "one"});
    AdmitAll(scheduler);
    for (const ChunkId& id : scheduler.Encoding()) scheduler.MarkEncoded(id, 1);
    while (const auto scheduled = scheduler.ScheduleNext()) steps_left[scheduled->document] = kChunkSteps;
    for (auto at = steps_left.begin(); at != steps_left.end();) {
      if (--at->second > 0) {
        ++at;
        continue;
      }
      if (at->first == kOne) return step + 1 - arrival;
      scheduler.Release({at->first, 0});
      at = steps_left.erase(at);
    }
  }
}

// The chunks that are decoded when it comes, and one chunk of the others in its turn: those that are encoded ahead.
TEST(SchedulerTest, ASingleDocumentWaitsForOneChunkAndItsShare) {
  for (int arrival = 0; arrival <= 2 * kChunkSteps; ++arrival) {
    EXPECT_LE(StepsBesideAThousand("others", arrival), 3 * kChunkSteps) << "came after " << arrival << " steps";
  }
  EXPECT_GT(StepsBesideAThousand("one", 1), 1000 / 4 * kChunkSteps) << "as one of the same client, it is the last";
}

// Tokens, not chunks: a client of long chunks gets no more than one of short ones.
TEST(SchedulerTest, ClientsShareTokensByWeight) {
  Scheduler scheduler(kLimits);
  for (int64_t document = 0; document < 2000; ++document) {
    scheduler.Enqueue(document, {Chunk(900)}, {.client = "long"});
    scheduler.Enqueue(10000 + document, {Chunk(30)}, {.client = "short"});
    scheduler.Enqueue(20000 + document, {Chunk(300)}, {.client = "heavy", .weight = 3});
    scheduler.Enqueue(30000 + document, {Chunk(100)}, {.client = "long", .bulk = true});
  }
  int64_t tokens[4] = {};
  for (const int64_t document : DrainOneByOne(scheduler, 1500)) {
    constexpr int64_t kTokens[] = {900, 30, 300, 100};
    tokens[document / 10000] += kTokens[document / 10000];
  }
  const auto share = [&](int flow) { return static_cast<double>(tokens[flow]) / static_cast<double>(tokens[0]); };
  EXPECT_NEAR(share(1), 1, 0.1);
  EXPECT_NEAR(share(2), 3, 0.3);
  EXPECT_NEAR(share(3), 1.0 / 8, 0.03);
}

TEST(SchedulerTest, WhoCancelsGivesUpItsTurn) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Chunk(10), Chunk(10)}, {.client = "a"});
  scheduler.Enqueue(2, {Chunk(10)}, {.client = "b"});
  scheduler.Cancel(1);
  EXPECT_EQ(scheduler.tokens_waiting(), 10);
  EXPECT_THAT(DrainOneByOne(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, EncodingBudgetIsAPassesOwn) {
  Scheduler scheduler(kLimits);
  for (int64_t document = 0; document < 3; ++document) scheduler.Enqueue(document, {Chunk(600)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(0));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, AChunkBeyondTheBudgetJoinsAlone) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Chunk(5000)});
  scheduler.Enqueue(2, {Chunk(1)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, WaitsForRowsThatAreReserved) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Chunk(10, 8)});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(1));
  scheduler.Enqueue(2, {Chunk(10)});
  EXPECT_THAT(Begin(scheduler), testing::IsEmpty());
  scheduler.Release({1, 0});
  EXPECT_THAT(ScheduleAll(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, WaitsForPagesThatAreReserved) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {{1, 95, 38, 10, 95}});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(1));
  scheduler.Enqueue(2, {{1, 10, 4, 10, 10}});
  EXPECT_THAT(AdmitAll(scheduler), testing::IsEmpty());  // no room for its source
  scheduler.Release({1, 0});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(2));
}

TEST(SchedulerTest, EncodesAheadAsManyRowsAsThereAre) {
  Scheduler scheduler(kLimits);
  for (int64_t document = 1; document <= 20; ++document) scheduler.Enqueue(document, {{1, 1, 1, 10, 1}});
  std::vector<int64_t> scheduled;
  for (int pass = 0; pass < 6; ++pass) {
    for (const int64_t document : Begin(scheduler)) scheduled.push_back(document);
  }
  EXPECT_THAT(scheduled, testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(scheduler.tokens_waiting(), 4 * 10);  // eight are decoded, eight are encoded
}

TEST(SchedulerTest, TheFrontIsNotOvertakenForever) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Chunk(10)});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(1));
  scheduler.Enqueue(2, {Chunk(10, 8)});
  scheduler.Enqueue(3, {Chunk(10)});
  EXPECT_THAT(Begin(scheduler), testing::IsEmpty());
  EXPECT_THAT(Begin(scheduler), testing::IsEmpty());  // 3 would fit, but 2 came first
  scheduler.Release({1, 0});
  EXPECT_THAT(ScheduleAll(scheduler), testing::ElementsAre(2));
}

// Eight rows; shallow and deep documents in turn. After the first of a kind come others of it.
TEST(SchedulerTest, ChunksOfOneDepthFollowOneAnother) {
  Scheduler scheduler({.rows = 8, .self_pages = 100, .cross_pages = 100, .encode_tokens = 1000, .encode_chunks = 100});
  scheduler.Enqueue(106, {Chunk(10, 8)});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(106));
  for (int64_t document : {202, 206, 302, 306, 402, 406}) scheduler.Enqueue(document, {Chunk(10)});
  EXPECT_THAT(Begin(scheduler), testing::IsEmpty());  // encoded, without rows
  scheduler.Release({106, 0});
  EXPECT_THAT(ScheduleAll(scheduler), testing::ElementsAre(206, 306, 406, 202, 302, 402));
}

// Eight rows, and two that are encoded before there are rows for them.
TEST(SchedulerTest, ChunksAreEncodedAheadWithinTheirLimit) {
  Scheduler scheduler(
      {.rows = 8, .self_pages = 100, .cross_pages = 100, .rows_ahead = 2, .encode_tokens = 1000, .encode_chunks = 100});
  for (int64_t document = 101; document <= 2001; document += 100) scheduler.Enqueue(document, {Chunk(10)});
  EXPECT_EQ(Begin(scheduler).size(), 8u) << "a pass for all free rows";
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(901, 1001));
  EndPass(scheduler);
  EXPECT_THAT(AdmitAll(scheduler), testing::IsEmpty()) << "two are ahead";
  scheduler.Release({101, 0});
  EXPECT_THAT(ScheduleAll(scheduler), testing::ElementsAre(901));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1101)) << "one more in place of the one that has rows";
}

// Documents 406, 506 ... of one chunk of `rows` rows come, one each time that the oldest of `decoded` leaves. The first
// four that are scheduled.
std::vector<int64_t> FirstScheduled(Scheduler& scheduler, std::vector<int64_t> decoded, int32_t rows) {
  std::vector<int64_t> order;
  for (int64_t document = 406; order.size() < 4; document += 100) {
    scheduler.Enqueue(document, {Chunk(10, rows)});
    AdmitAll(scheduler);
    EndPass(scheduler);
    scheduler.Release({decoded.front(), 0});
    decoded.erase(decoded.begin());
    for (const int64_t scheduled : ScheduleAll(scheduler)) {
      order.push_back(scheduled);
      decoded.push_back(scheduled);
    }
  }
  return order;
}

TEST(SchedulerTest, AnotherDepthIsOvertakenByAsManyAsThereAreRows) {
  Scheduler scheduler({.rows = 2, .self_pages = 100, .cross_pages = 100, .encode_tokens = 1000, .encode_chunks = 100});
  scheduler.Enqueue(106, {Chunk(10)});
  scheduler.Enqueue(206, {Chunk(10)});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(106, 206));
  scheduler.Enqueue(302, {Chunk(10)});
  EXPECT_THAT(FirstScheduled(scheduler, {106, 206}, 1), testing::ElementsAre(406, 506, 302, 606));
}

// A beam takes many rows at once, and counts as so many that overtake.
TEST(SchedulerTest, ABeamOvertakesWithAllItsRows) {
  Scheduler scheduler({.rows = 8, .self_pages = 100, .cross_pages = 100, .encode_tokens = 1000, .encode_chunks = 100});
  const std::vector<int64_t> decoded = {106, 206};
  for (const int64_t document : decoded) scheduler.Enqueue(document, {Chunk(10, 4)});
  EXPECT_EQ(Begin(scheduler), decoded);
  scheduler.Enqueue(302, {Chunk(10)});
  EXPECT_THAT(FirstScheduled(scheduler, decoded, 4), testing::ElementsAre(406, 506, 302, 606));
}

TEST(SchedulerTest, OneOfTheSameDepthThatHasNoRoomHoldsNobodyBack) {
  Scheduler scheduler({.rows = 8, .self_pages = 100, .cross_pages = 100, .encode_tokens = 1000, .encode_chunks = 100});
  scheduler.Enqueue(106, {Chunk(10, 4)});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(106));
  scheduler.Enqueue(202, {Chunk(10)});
  scheduler.Enqueue(306, {Chunk(10, 6)});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(202));  // it came first, and there are rows for it
  scheduler.Release({106, 0});
  EXPECT_THAT(ScheduleAll(scheduler), testing::ElementsAre(306));
}

TEST(SchedulerTest, CancelForgetsChunksThatWait) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Chunk(900), Chunk(900)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  scheduler.Cancel(1);
  EXPECT_EQ(scheduler.tokens_waiting(), 0);
  EXPECT_THAT(AdmitAll(scheduler), testing::IsEmpty());
}

TEST(SchedulerTest, CountsTokensThatWait) {
  Scheduler scheduler(kLimits);
  scheduler.Enqueue(1, {Chunk(900), Chunk(900)});
  scheduler.Enqueue(2, {Chunk(900)});
  EXPECT_EQ(scheduler.tokens_waiting(), 3 * 900);
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(1));
  EXPECT_EQ(scheduler.tokens_waiting(), 2 * 900);
}

TEST(SchedulerTest, SaysWhatCouldNeverFit) {
  const Scheduler scheduler(kLimits);
  EXPECT_TRUE(scheduler.CouldFit({8, 100, 40, 99999}));
  EXPECT_FALSE(scheduler.CouldFit({9, 1, 1, 1}));
  EXPECT_FALSE(scheduler.CouldFit({1, 101, 1, 1}));
  EXPECT_FALSE(scheduler.CouldFit({1, 1, 41, 1}));
}

TEST(SchedulerTest, ReservesWhatIsUsualAndGrows) {
  Scheduler scheduler(kLimits);
  for (int64_t document = 0; document < 4; ++document) scheduler.Enqueue(document, {Growing(90)});
  EXPECT_THAT(Begin(scheduler), testing::UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(scheduler.Grow({0, 0}, 70));
  EXPECT_TRUE(scheduler.Grow({0, 0}, 60));   // has more than that
  EXPECT_FALSE(scheduler.Grow({1, 0}, 11));  // 70 and three times 10 are all there are
  scheduler.Release({3, 0});
  EXPECT_TRUE(scheduler.Grow({1, 0}, 20));
}

TEST(SchedulerTest, TheYoungestGivesWayAndComesBackFirstWithAllItMayNeed) {
  Scheduler scheduler(kLimits);
  for (int64_t document : {100, 200, 300}) scheduler.Enqueue(document, {Growing(90), Growing(90)});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(100, 200, 300, 100));
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(200, 300));
  scheduler.Enqueue(400, {Growing(10)});
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(400));
  EndPass(scheduler);
  EXPECT_EQ(scheduler.PreemptYoungest(), (ChunkId{300, 1}));
  EXPECT_EQ(scheduler.PreemptYoungest(), (ChunkId{200, 1}));
  EXPECT_THAT(ScheduleAll(scheduler), testing::IsEmpty());  // 400 would fit, but the preempted come first
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(200, 300));
  EXPECT_THAT(ScheduleAll(scheduler), testing::IsEmpty());
  EndPass(scheduler);
  EXPECT_THAT(ScheduleAll(scheduler), testing::IsEmpty());  // for want of pages
  for (const int64_t document : {100, 200, 300}) scheduler.Release({document, 0});
  EXPECT_THAT(ScheduleAll(scheduler), testing::ElementsAre(200));
  EXPECT_THAT(scheduler.Running(), testing::ElementsAre(ChunkId{100, 1}, ChunkId{200, 1}));
  EXPECT_TRUE(scheduler.Grow({200, 1}, 90));  // reserved already
  scheduler.Release({300, 1});                // cancelled while it waits for rows
  EXPECT_THAT(ScheduleAll(scheduler), testing::IsEmpty());
  scheduler.Release({200, 1});
  EXPECT_THAT(ScheduleAll(scheduler), testing::ElementsAre(400));
  EXPECT_THAT(AdmitAll(scheduler), testing::IsEmpty());
}

// Others encoded ahead hold as many rows' worth as may be; the preempted one is encoded all the same.
TEST(SchedulerTest, ThePreemptedDoesNotWaitForThoseWhoWaitForIt) {
  Scheduler scheduler({.rows = 2, .self_pages = 20, .cross_pages = 100, .encode_tokens = 1000, .encode_chunks = 100});
  for (int64_t document : {100, 200, 300, 400}) scheduler.Enqueue(document, {{1, 20, 4, 10, 10}});
  EXPECT_THAT(Begin(scheduler), testing::ElementsAre(100, 200));
  AdmitAll(scheduler);
  EndPass(scheduler);
  EXPECT_FALSE(scheduler.Grow({100, 0}, 11));
  EXPECT_EQ(scheduler.PreemptYoungest(), (ChunkId{200, 0}));
  EXPECT_THAT(AdmitAll(scheduler), testing::ElementsAre(200));
  EndPass(scheduler);
  scheduler.Release({100, 0});
  EXPECT_THAT(ScheduleAll(scheduler), testing::ElementsAre(200));
}

// Whatever comes, grows and goes: limits hold at every moment and everything is done in the end.
TEST(SchedulerTest, RandomLoadStaysWithinLimitsAndDrains) {
  struct Running {
    ChunkId id;
    Demand demand;
    int32_t pages = 0;
  };
  std::mt19937 random(7);
  Scheduler scheduler(kLimits);
  std::vector<std::vector<Demand>> documents;
  std::vector<Running> running;  // what is decoded, in the order of its beginning
  std::vector<Running> ahead;    // what is encoded, or is to be
  size_t done = 0, chunks = 0, preempted = 0;
  for (int step = 0; step < 20000 && (step < 300 || done < chunks); ++step) {
    if (step < 300) {
      std::vector<Demand> demands;
      for (uint32_t w = 0; w < 1 + random() % 3; ++w) {
        const int32_t most = 1 + static_cast<int32_t>(random() % 50);
        demands.push_back({1 + static_cast<int32_t>(random() % 4), most, 1 + static_cast<int32_t>(random() % 20),
                           1 + static_cast<int32_t>(random() % 1500), (most + 2) / 3});
      }
      chunks += demands.size();
      scheduler.Enqueue(static_cast<int64_t>(documents.size()), demands);
      documents.push_back(demands);
    }
    scheduler.BeginPass();
    int32_t encoded = 0, joined = 0;
    while (const auto admitted = scheduler.Admit()) {
      ahead.push_back({*admitted, documents[admitted->document][admitted->chunk], 1});
      encoded += ahead.back().demand.source_tokens;
      ++joined;
    }
    if (random() % 3 > 0) EndPass(scheduler);
    while (const auto scheduled = scheduler.ScheduleNext()) {
      const auto found =
          std::find_if(ahead.begin(), ahead.end(), [&](const Running& chunk) { return chunk.id == *scheduled; });
      ASSERT_NE(found, ahead.end());
      running.push_back(*found);
      ahead.erase(found);
    }
    EXPECT_TRUE(joined <= 1 || encoded <= kLimits.encode_tokens);
    for (size_t i = 0; i < running.size(); ++i) {
      const int32_t wanted =
          std::min(running[i].pages + static_cast<int32_t>(random() % 3), running[i].demand.self_pages);
      while (i < running.size() && !scheduler.Grow(running[i].id, wanted)) {
        ASSERT_EQ(scheduler.PreemptYoungest(), running.back().id);
        ASSERT_GT(running.size(), 1u) << "the oldest was preempted";
        running.pop_back();
        ++preempted;
      }
      if (i < running.size()) running[i].pages = wanted;
    }
    Demand total;
    for (const Running& chunk : running) {
      total.rows += chunk.demand.rows;
      total.self_pages += chunk.pages;
      total.cross_pages += chunk.demand.cross_pages;
    }
    for (const Running& chunk : ahead) total.cross_pages += chunk.demand.cross_pages;
    ASSERT_TRUE(scheduler.CouldFit(total));
    for (size_t i = running.size(); i-- > 0;) {
      if (running[i].pages < running[i].demand.self_pages && random() % 30 > 0) continue;
      scheduler.Release(running[i].id);
      running.erase(running.begin() + static_cast<int64_t>(i));
      ++done;
    }
  }
  EXPECT_EQ(done, chunks);
  EXPECT_GT(preempted, 0u);
}

// One chunk's pages for a translation, two chunks' sources; a page has one unit.
struct Pools {
  PagePool self{nullptr, 12}, cross{nullptr, 8};
};

// A scheduler that shares memory.
struct Sharer {
  explicit Sharer(Pools& pools) : self(pools.self, 1, [] {}), cross(pools.cross, 1, [] {}) {}
  void GiveBack() {
    if (self.wanted()) self.Keep(scheduler.self_reserved());
    if (cross.wanted()) cross.Keep(scheduler.cross_reserved());
  }
  PageShare self, cross;
  Scheduler scheduler{kLimits, &self, &cross};
};

TEST(SharedMemoryTest, WhatOneHasTakenTheOtherWaitsForAndThenGets) {
  Pools pools;
  Sharer a(pools), b(pools);
  a.scheduler.Enqueue(1, {Chunk(10), Chunk(10)});
  b.scheduler.Enqueue(2, {Chunk(10)});
  EXPECT_THAT(AdmitAll(a.scheduler), testing::ElementsAre(1, 1));
  EXPECT_THAT(AdmitAll(b.scheduler), testing::IsEmpty());
  EXPECT_TRUE(b.cross.waiting());
  EXPECT_TRUE(a.cross.wanted());
  a.GiveBack();
  EXPECT_THAT(AdmitAll(b.scheduler), testing::IsEmpty()) << "what is in use is not taken away";
  EndPass(a.scheduler);
  EXPECT_THAT(ScheduleAll(a.scheduler), testing::ElementsAre(1));
  a.scheduler.Release({1, 0});
  a.scheduler.Enqueue(3, {Chunk(10)});
  a.GiveBack();
  EXPECT_THAT(AdmitAll(a.scheduler), testing::IsEmpty()) << "the other was first in line";
  EXPECT_THAT(AdmitAll(b.scheduler), testing::ElementsAre(2));
  EXPECT_FALSE(b.cross.waiting());
}

TEST(SharedMemoryTest, WhoHasNothingToAskForAnyMoreLeavesTheLine) {
  Pools pools;
  Sharer a(pools), b(pools);
  a.scheduler.Enqueue(1, {Chunk(10), Chunk(10)});
  AdmitAll(a.scheduler);
  b.scheduler.Enqueue(2, {Chunk(10)});
  AdmitAll(b.scheduler);
  ASSERT_TRUE(a.cross.wanted());
  b.scheduler.Cancel(2);
  AdmitAll(b.scheduler);
  EXPECT_FALSE(a.cross.wanted());
}

// Two engines have preempted a chunk each, and hold sources of chunks that wait for it. If the preempted ones had given
// up the memory for their own sources, a third engine could take it, and each of them could wait for ever.
TEST(SharedMemoryTest, APreemptedChunkKeepsTheMemoryForItsSource) {
  Pools pools;
  Sharer a(pools), b(pools);
  a.scheduler.Enqueue(1, {Chunk(10)});
  a.scheduler.Enqueue(2, {Chunk(10)});
  EXPECT_THAT(Begin(a.scheduler), testing::ElementsAre(1)) << "there is memory for one translation";
  b.scheduler.Enqueue(3, {Chunk(10)});
  EXPECT_THAT(AdmitAll(b.scheduler), testing::IsEmpty());
  a.scheduler.PreemptYoungest();
  a.GiveBack();
  EXPECT_THAT(AdmitAll(b.scheduler), testing::IsEmpty());
  EXPECT_THAT(Begin(a.scheduler), testing::ElementsAre(1));
  // Cancelled, it gives up that, too.
  a.scheduler.PreemptYoungest();
  a.scheduler.Cancel(1);
  a.GiveBack();
  EXPECT_THAT(AdmitAll(b.scheduler), testing::ElementsAre(3));
}

TEST(SharedMemoryTest, WhatHasBegunGrowsBeforeOthersBegin) {
  Pools pools;
  Sharer a(pools), b(pools);
  a.scheduler.Enqueue(1, {Growing(12)});
  b.scheduler.Enqueue(2, {Growing(12)});
  EXPECT_THAT(Begin(a.scheduler), testing::ElementsAre(1));
  EXPECT_THAT(Begin(b.scheduler), testing::IsEmpty());
  EXPECT_TRUE(b.self.waiting());
  EXPECT_TRUE(a.scheduler.Grow({1, 0}, 12));
  a.scheduler.Release({1, 0});
  a.GiveBack();
  EXPECT_THAT(ScheduleAll(b.scheduler), testing::ElementsAre(2));
}

}  // namespace
}  // namespace salient

// Engines that share the memory for keys: each gets what it needs, in turn, and translates as if it were alone.

#include <atomic>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "engine/base/key_memory.h"
#include "engine/engine.h"
#include "gtest/gtest.h"
#include "tests/testing/documents.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::EightSettings;
using ::salient::testing::RandomDocument;
using ::salient::testing::SubmitAll;

constexpr int kEngines = 3;

std::unique_ptr<Engine> Open(int64_t kv_bytes, std::shared_ptr<KeyMemory> memory) {
  EngineOptions options{.model_folder = std::string(SALIENT_TINY_MODELS) + "/base",
                        .device = "cpu",
                        .compute = ComputeType::kBF16,
                        .threads = 1,
                        .max_rows = 24,
                        .encode_tokens = 300,
                        .kv_bytes = kv_bytes};
  options.key_memory = std::move(memory);
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

// Requests of every setting that need more memory than is usual.
std::vector<TranslationRequest> Requests() {
  std::mt19937 random(17);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 16; ++i) {
    requests.push_back({.text = RandomDocument(random, 2), .options = EightSettings()[i % 8]});
    requests.back().options.search.max_length_ratio = 20;
    requests.back().options.search.prefix = RandomDocument(random, 9);
  }
  return requests;
}

std::vector<std::string> Texts(const std::vector<std::shared_ptr<testing::RecordingListener>>& listeners) {
  std::vector<std::string> texts;
  for (const auto& listener : listeners) {
    const absl::StatusOr<TranslationResult>& result = listener->Wait();
    EXPECT_TRUE(result.ok()) << result.status();
    texts.push_back(result.ok() ? result->text : "");
    char score[32];
    for (const TranslatedSegment& segment : result.ok() ? result->segments : std::vector<TranslatedSegment>()) {
      std::snprintf(score, sizeof(score), "|%a", segment.score);
      texts.back() += score;
    }
  }
  return texts;
}

TEST(KeyMemoryTest, EnginesThatWantMoreThanThereIsTakeTurnsAndTranslateAsAlone) {
  const std::vector<TranslationRequest> requests = Requests();
  const std::unique_ptr<Engine> alone = Open(64 << 20, nullptr);
  ASSERT_NE(alone, nullptr);
  const std::vector<std::string> expected = Texts(SubmitAll(*alone, requests));

  constexpr int64_t kLittle = 7 << 19;  // one engine alone has to preempt with it
  const auto memory = std::make_shared<KeyMemory>(kLittle);
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < kEngines; ++i) engines.push_back(Open(kLittle, memory));

  std::atomic<bool> over = false;
  std::atomic<int64_t> most = 0;
  std::thread watcher([&] {
    while (!over) {
      EXPECT_LE(memory->self.taken(), memory->self.bytes());
      EXPECT_LE(memory->cross.taken(), memory->cross.bytes());
      most = std::max<int64_t>(most, memory->self.taken());
      absl::SleepFor(absl::Microseconds(200));
    }
  });
  std::vector<std::vector<std::shared_ptr<testing::RecordingListener>>> listeners;
  for (int i = 0; i < kEngines; ++i) listeners.push_back(SubmitAll(*engines[i], requests));
  for (const auto& of_one : listeners) EXPECT_EQ(Texts(of_one), expected);
  over = true;
  watcher.join();
  EXPECT_GT(most, memory->self.bytes() / 2) << "nobody was short of memory: nothing was tested";
  for (const auto& engine : engines) EXPECT_EQ(engine->status().kv_bytes_used, 0);
  engines.clear();
  EXPECT_EQ(memory->self.taken(), 0);
  EXPECT_EQ(memory->cross.taken(), 0);
}

// An engine keeps what it had for its next document, until another wants it.
TEST(KeyMemoryTest, WhoHasNothingToDoGivesBackWhatOthersWant) {
  const std::vector<TranslationRequest> requests = Requests();
  constexpr int64_t kLittle = 7 << 19;
  const auto memory = std::make_shared<KeyMemory>(kLittle);
  const std::unique_ptr<Engine> first = Open(kLittle, memory), second = Open(kLittle, memory);
  const std::vector<std::string> expected = Texts(SubmitAll(*first, requests));
  EXPECT_GT(memory->self.taken(), memory->self.bytes() / 2);
  EXPECT_EQ(Texts(SubmitAll(*second, requests)), expected);
  EXPECT_EQ(Texts(SubmitAll(*first, requests)), expected);
}

// Who has waited for memory and is cancelled does not keep the others waiting.
TEST(KeyMemoryTest, CancelledDocumentsLeaveTheLine) {
  constexpr int64_t kLittle = 7 << 19;
  const auto memory = std::make_shared<KeyMemory>(kLittle);
  const std::unique_ptr<Engine> first = Open(kLittle, memory), second = Open(kLittle, memory);
  const std::vector<TranslationRequest> requests = Requests();
  for (int round = 0; round < 5; ++round) {
    const auto kept = SubmitAll(*first, requests);
    std::vector<std::shared_ptr<testing::RecordingListener>> cancelled;
    std::vector<std::shared_ptr<TranslationTicket>> tickets;
    for (const TranslationRequest& request : requests) {
      cancelled.push_back(std::make_shared<testing::RecordingListener>());
      auto ticket = second->Submit(request, cancelled.back());
      ASSERT_TRUE(ticket.ok()) << ticket.status();
      tickets.push_back(*std::move(ticket));
    }
    absl::SleepFor(absl::Milliseconds(2 * round));
    for (const auto& ticket : tickets) ticket->Cancel();
    for (const auto& listener : cancelled) listener->Wait();
    for (const auto& listener : kept) EXPECT_TRUE(listener->Wait().ok());
  }
}

}  // namespace
}  // namespace salient

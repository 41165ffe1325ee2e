// Engines that share the memory for keys, on every device: each gets what it needs, in turn, and translates as if it
// were alone, whatever others have left there.

#include "engine/key_memory.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "engine/backend/backend.h"
#include "engine/core/host_memory.h"
#include "engine/core/page_pool.h"
#include "engine/decode/key_stores.h"
#include "engine/engine.h"
#include "gmock/gmock.h"
#include "tests/testing/documents.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::CancellingListener;
using ::salient::testing::EightSettings;
using ::salient::testing::HoldingObserver;
using ::salient::testing::RandomDocument;
using ::salient::testing::RecordingListener;
using ::salient::testing::SubmitAll;
using ::testing::HasSubstr;

constexpr int64_t kEnough = 64 << 20;

std::vector<std::string> Texts(const std::vector<std::shared_ptr<RecordingListener>>& listeners) {
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

class KeyMemoryTest : public ::testing::TestWithParam<std::string> {
 protected:
  bool on_gpu() const { return GetParam() == "cuda"; }
  // What all engines have together; the requests of one alone would need more at times.
  int64_t little() const { return on_gpu() ? 2 << 20 : 9 << 19; }

  absl::StatusOr<std::unique_ptr<Engine>> Create(const std::string& model, int64_t kv_bytes,
                                                 std::shared_ptr<KeyMemory> memory,
                                                 EngineObserver* observer = nullptr) {
    return Engine::Create({.model_folder = std::string(SALIENT_TINY_MODELS) + "/" + model,
                           .device = GetParam(),
                           .compute = ComputeType::kBF16,
                           .threads = 1,
                           .max_rows = 24,
                           .encode_tokens = 300,
                           .key_memory = std::move(memory),
                           .kv_bytes = kv_bytes},
                          observer);
  }
  std::unique_ptr<Engine> Open(const std::string& model, std::shared_ptr<KeyMemory> memory,
                               EngineObserver* observer = nullptr) {
    absl::StatusOr<std::unique_ptr<Engine>> engine = Create(model, kEnough, std::move(memory), observer);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }
  std::unique_ptr<Backend> OpenBackend() { return on_gpu() ? *MakeCudaBackend({}) : MakeCpuBackend({.threads = 1}); }

  // The pools of a memory, which is filled with what is no number in any format.
  std::shared_ptr<KeyPools> PoolsOf(KeyMemory& memory) {
    const std::unique_ptr<Backend> backend = OpenBackend();
    const absl::StatusOr<std::shared_ptr<KeyPools>> pools = memory.On(GetParam(), *backend);
    EXPECT_TRUE(pools.ok()) << pools.status();
    const std::vector<std::byte> ones((*pools)->bytes, std::byte{0xff});
    backend->memory().CopyToDevice((*pools)->area.get(), ones.data(), ones.size());
    backend->memory().WaitFor(backend->memory().Mark());
    return *pools;
  }

  // Requests that need more memory than is usual.
  std::vector<TranslationRequest> Requests() const {
    std::mt19937 random(17);
    std::vector<TranslationRequest> requests;
    for (const int setting : on_gpu() ? std::vector<int>{0, 1, 6, 7} : std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}) {
      for (int i = 0; i < (on_gpu() ? 1 : 2); ++i) {
        requests.push_back({.text = RandomDocument(random, on_gpu() ? 1 : 2), .options = EightSettings()[setting]});
        requests.back().options.search.max_length_ratio = 20;
        requests.back().options.search.prefix = RandomDocument(random, on_gpu() ? 5 : 9);
      }
    }
    return requests;
  }
};

std::vector<std::string> Devices() {
  std::vector<std::string> devices = {"cpu"};
  if (MakeCudaBackend({}).ok()) devices.emplace_back("cuda");
  return devices;
}
INSTANTIATE_TEST_SUITE_P(All, KeyMemoryTest, ::testing::ValuesIn(Devices()),
                         [](const auto& device) { return device.param; });

TEST_P(KeyMemoryTest, ModelsThatWantMoreThanThereIsTakeTurnsAndTranslateAsAlone) {
  const std::vector<TranslationRequest> requests = Requests();
  std::vector<std::string> models = {"base", "post"};  // pages of seven and of nine units
  if (!on_gpu()) models.emplace_back("wide");          // of eight
  std::vector<std::vector<std::string>> expected;
  for (const std::string& model : models) expected.push_back(Texts(SubmitAll(*Open(model, nullptr), requests)));

  const auto memory = std::make_shared<KeyMemory>(little());
  const std::shared_ptr<KeyPools> pools = PoolsOf(*memory);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const std::string& model : models) engines.push_back(Open(model, memory));
  for (const auto& engine : engines) EXPECT_EQ(engine->status().kv_bytes_total, little());

  std::atomic<bool> over = false;
  std::atomic<int32_t> most = 0;
  std::atomic<int64_t> most_used = 0;
  std::thread watcher([&] {
    while (!over) {
      most = std::max<int32_t>(most, pools->self.taken());
      int64_t used = 0;
      for (const auto& engine : engines) used = std::max(used, engine->status().kv_bytes_used);
      most_used = std::max<int64_t>(most_used, used);
      absl::SleepFor(absl::Microseconds(200));
    }
  });
  std::vector<std::vector<std::shared_ptr<RecordingListener>>> listeners;
  for (const auto& engine : engines) listeners.push_back(SubmitAll(*engine, requests));
  for (size_t i = 0; i < models.size(); ++i) EXPECT_EQ(Texts(listeners[i]), expected[i]) << models[i];
  over = true;
  watcher.join();
  EXPECT_GT(most, pools->self.units() / 2) << "nobody was short of memory: nothing was tested";
  EXPECT_GT(most_used, 0);
  EXPECT_LE(most_used, little());
  for (const auto& engine : engines) EXPECT_EQ(engine->status().kv_bytes_used, 0);
  engines.clear();
  EXPECT_EQ(pools->self.taken(), 0);
  EXPECT_EQ(pools->cross.taken(), 0);
}

// An engine keeps what it had for its next document, until another wants it.
TEST_P(KeyMemoryTest, WhoHasNothingToDoGivesBackWhatOthersWant) {
  const std::vector<TranslationRequest> requests = Requests();
  const auto memory = std::make_shared<KeyMemory>(little());
  const std::shared_ptr<KeyPools> pools = PoolsOf(*memory);
  const std::unique_ptr<Engine> first = Open("base", memory), second = Open("post", memory);
  const std::vector<std::string> expected = Texts(SubmitAll(*first, requests));
  EXPECT_GT(pools->self.taken(), pools->self.units() / 3);
  Texts(SubmitAll(*second, requests));
  EXPECT_EQ(Texts(SubmitAll(*first, requests)), expected);
}

// A document that is cancelled leaves steps under way, which still write to its pages: another engine gets them when
// the device is done. Without that wait the test fails now and then, as chance has it with the streams.
TEST_P(KeyMemoryTest, PagesChangeHandsOnlyWhenNothingUnderWayUsesThem) {
  if (!on_gpu()) GTEST_SKIP() << "nothing is under way when a host's operations return";
  const auto memory = std::make_shared<KeyMemory>(160 * static_cast<int64_t>(kPageUnit));
  const std::shared_ptr<KeyPools> pools = PoolsOf(*memory);
  HoldingObserver observer;
  const std::unique_ptr<Engine> first = Open("base", memory), second = Open("post", memory, &observer);
  TranslationRequest request{.text = "The old house of the river and the cold water of the garden."};
  request.options.search = {.beam = 3, .max_length_ratio = 6};
  for (int i = 0; i < 4; ++i) request.options.search.prefix += "Das alte Haus am Fluss und das kalte Wasser. ";
  request.options.selection.policy = SelectionPolicy::kDense;
  const std::vector<std::string> expected = Texts(SubmitAll(*first, {request}));
  std::vector<std::shared_ptr<RecordingListener>> leavers;
  std::vector<std::shared_ptr<TranslationTicket>> tickets;
  for (int i = 0; i < 5; ++i) {
    leavers.push_back(std::make_shared<RecordingListener>());
    tickets.push_back(*second->Submit(request, leavers.back()));
  }
  observer.WaitUntilHeld();
  for (int steps = 0; steps < 8; ++steps) observer.LetOneGo();
  EXPECT_GT(pools->self.taken(), pools->self.units() * 9 / 10) << "two pages each: that is nearly all there is";
  const auto listeners = SubmitAll(*first, {request});
  for (const auto& ticket : tickets) ticket->Cancel();
  observer.LetGo();
  for (const auto& leaver : leavers) EXPECT_EQ(leaver->Wait().status().code(), absl::StatusCode::kCancelled);
  const auto tokens = [&] {
    const std::vector<TranslationProgress> progress = listeners[0]->progress();
    return progress.empty() ? 0 : progress.back().target_tokens;
  };
  while (!listeners[0]->done() && tokens() < 64) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(second->Translate({.text = "Late."}).ok());  // the device comes to what was under way
  EXPECT_EQ(Texts(listeners), expected);
}

// Documents are cancelled while they wait for memory, and while others do.
TEST_P(KeyMemoryTest, CancelledDocumentsMakeRoomForOthers) {
  const auto memory = std::make_shared<KeyMemory>(little());
  const std::shared_ptr<KeyPools> pools = PoolsOf(*memory);
  const std::unique_ptr<Engine> first = Open("base", memory), second = Open("post", memory);
  const std::vector<TranslationRequest> requests = Requests();
  const std::vector<std::string> expected = Texts(SubmitAll(*first, requests));
  for (const bool at_once : {false, true}) {
    std::vector<std::shared_ptr<CancellingListener>> cancelled;
    for (const TranslationRequest& request : requests) {
      cancelled.push_back(std::make_shared<CancellingListener>());
      const auto ticket = second->Submit(request, cancelled.back());
      ASSERT_TRUE(ticket.ok()) << ticket.status();
      cancelled.back()->CancelsAtFirstTokens(*ticket);
      if (at_once) (*ticket)->Cancel();
    }
    EXPECT_EQ(Texts(SubmitAll(*first, requests)), expected) << (at_once ? "at once" : "later");
    for (const auto& listener : cancelled) listener->Wait();
  }
}

TEST_P(KeyMemoryTest, TheMemoryIsThereAsLongAsAnyEngineHasIt) {
  const TranslationRequest request{.text = "The answer came late."};
  const auto memory = std::make_shared<KeyMemory>(little());
  std::unique_ptr<Engine> first = Open("base", memory);
  const absl::StatusOr<TranslationResult> expected = first->Translate(request);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::unique_ptr<Engine> second = Open("base", memory);
  first.reset();
  const absl::StatusOr<TranslationResult> result = second->Translate(request);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text, expected->text);
  const std::unique_ptr<Backend> backend = OpenBackend();
  std::weak_ptr<KeyPools> pools = *memory->On(GetParam(), *backend);
  EXPECT_GT(pools.lock()->self.taken(), 0) << "the second engine's";
}

// Takes what an engine has waited for, once it ends.
class TakingListener : public TranslationListener {
 public:
  explicit TakingListener(PageShare& share) : share_(share) {}
  void OnDone(absl::StatusOr<TranslationResult>) override {
    share_.Keep(0);
    has_taken_ = share_.Cover(1);
  }
  bool has_taken() const { return has_taken_; }

 private:
  PageShare& share_;
  bool has_taken_ = false;
};

// One whose device could not be opened anew stays until the server ends.
TEST_P(KeyMemoryTest, AnEngineThatHasEndedHoldsUpNobodyInLine) {
  const auto memory = std::make_shared<KeyMemory>(little());
  const std::shared_ptr<KeyPools> pools = PoolsOf(*memory);
  PageShare share(pools->self, 1, [] {});
  ASSERT_TRUE(share.Cover(pools->self.units()));
  std::unique_ptr<Engine> engine = Open("base", memory);
  ASSERT_NE(engine, nullptr);
  const auto listener = std::make_shared<TakingListener>(share);
  ASSERT_TRUE(engine->Submit({.text = "The answer came late."}, listener).ok());
  while (!share.wanted()) absl::SleepFor(absl::Milliseconds(1));
  engine.reset();
  EXPECT_TRUE(listener->has_taken());
}

// A device with room for one area. Freeing it lasts until somebody has asked what is free, or long enough to ask.
class OneArea : public DeviceMemory {
 public:
  explicit OneArea(size_t size) : free_(size) {}

  bool host_addressable() const override { return true; }
  void* Allocate(size_t bytes) override { return HostMemory().Allocate(bytes); }
  void Free(void* pointer, size_t bytes) override { HostMemory().Free(pointer, bytes); }
  std::shared_ptr<std::byte> AllocateShared(size_t bytes) override {
    std::lock_guard lock(mutex_);
    free_ -= bytes;
    return {new std::byte[bytes], [this, bytes](std::byte* area) {
              delete[] area;
              std::unique_lock waiting(mutex_);
              freeing_ = true;
              changed_.notify_all();
              changed_.wait_for(waiting, std::chrono::milliseconds(200), [this] { return asked_; });
              free_ += bytes;
            }};
  }
  size_t free_bytes() const override {
    std::lock_guard lock(mutex_);
    asked_ = freeing_;
    changed_.notify_all();
    return free_;
  }
  void CopyToDevice(void*, const void*, size_t) override {}
  void CopyToHost(void*, const void*, size_t) override {}

  void WaitUntilFreeing() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return freeing_; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool asked_ = false;
  size_t free_;
  bool freeing_ = false;
};

// It computes nothing.
class MemoryOnly : public Backend {
 public:
  explicit MemoryOnly(DeviceMemory& memory) : memory_(memory) {}

  std::string Name() const override { return "memory"; }
  DeviceMemory& memory() override { return memory_; }
  ElementType kv_type() const override { return ElementType::kBF16; }
  std::unique_ptr<PackedLinear> Pack(const LinearWeights&) override { return nullptr; }
  void Embed(const EmbedArgs&) override {}
  void LayerNorm(const LayerNormArgs&) override {}
  void Linear(const LinearArgs&) override {}
  void Rotate(const RotateArgs&) override {}
  void Ssru(const SsruArgs&) override {}
  void AppendKeyValue(const AppendKeyValueArgs&) override {}
  void AppendSelection(const AppendSelectionArgs&) override {}
  void Select(const SelectArgs&) override {}
  void Attend(const AttendArgs&) override {}
  void TopProbability(const TopProbabilityArgs&) override {}
  void Candidates(const CandidatesArgs&) override {}

 private:
  DeviceMemory& memory_;
};

TEST(KeyMemoryOfOneDeviceTest, WhoComesWhileTheLastLeavesGetsWhatThatOneFrees) {
  constexpr int64_t kBytes = 1 << 20;
  OneArea area(kBytes);
  MemoryOnly device(area);
  KeyMemory memory(kBytes);
  std::shared_ptr<KeyPools> last = *memory.On("device", device);
  std::thread leaving([&] { last.reset(); });
  area.WaitUntilFreeing();
  const absl::StatusOr<std::shared_ptr<KeyPools>> next = memory.On("device", device);
  EXPECT_TRUE(next.ok()) << next.status();
  leaving.join();
}

TEST(KeyMemoryOfOneDeviceTest, PoolsMayOutliveTheirKeyMemory) {
  constexpr int64_t kBytes = 1 << 20;
  OneArea area(kBytes);
  MemoryOnly device(area);
  std::shared_ptr<KeyPools> pools = *KeyMemory(kBytes).On("device", device);
  EXPECT_EQ(area.free_bytes(), 0);
  pools.reset();
  EXPECT_EQ(area.free_bytes(), kBytes);
}

TEST_P(KeyMemoryTest, AModelWhosePagesAreTooLargeIsRefused) {
  const absl::Status status = Create("base", 64 << 10, nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--kv-memory is 65536 bytes; this model needs"));
  const auto memory = std::make_shared<KeyMemory>(128 << 10);
  const std::unique_ptr<Engine> small = Open("base", memory);
  EXPECT_THAT(std::string(Create("whole-rows", 0, memory).status().message()), HasSubstr("--kv-memory is 131072"));
  EXPECT_TRUE(small->Translate({.text = "Late."}).ok());
}

}  // namespace
}  // namespace salient

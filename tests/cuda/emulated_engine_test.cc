// The whole engine on the CUDA backend's emulation: what a GPU adds to the engine's host side.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/backend/backend.h"
#include "engine/decode/key_stores.h"
#include "engine/engine.h"
#include "engine/key_memory.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/cuda/emulation/emulated_device.h"
#include "tests/cuda/emulation/emulated_gemm.h"
#include "tests/testing/documents.h"
#include "tests/testing/listener.h"
#include "tests/testing/marked_documents.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::salient::emulation::FailNextDeviceAfter;
using ::salient::emulation::FailNextDevicesAllocation;
using ::salient::emulation::LimitNextDevice;
using ::salient::emulation::PageableCopies;
using ::salient::emulation::WaitsForEverything;
using ::salient::testing::CancellingListener;
using ::salient::testing::EightSettings;
using ::salient::testing::Fingerprint;
using ::salient::testing::RandomDocument;
using ::salient::testing::RecordingListener;
using ::salient::testing::SubmitAll;
using ::salient::testing::WrongMarkersUnderEverySetting;
using ::testing::HasSubstr;
using ::testing::StartsWith;

EngineOptions Options(ComputeType compute, const std::string& model = "base") {
  return {.model_folder = absl::StrCat(SALIENT_TINY_MODELS, "/", model),
          .device = "cuda",
          .compute = compute,
          .max_rows = 16,
          .encode_tokens = 300,
          .kv_bytes = 8 << 20};
}

std::unique_ptr<Engine> Make(const EngineOptions& options) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

class SuspensionCounter : public EngineObserver {
 public:
  void OnStep(int32_t, double) override {}
  void OnStall(double) override {}
  void OnPreempt() override { ++preempted; }
  std::atomic<int> preempted = 0;
};

struct Setup {
  std::string name;
  ComputeType compute;
  std::string model;
  std::optional<ElementType> kv_type;
};
void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

// Every policy of depth and selection, a beam among them: text, scores, exits, keys and costs. The rows of "whole-rows"
// select and attend in one kernel where several are in a step, and in two where one is alone.
class EmulatedEngineTest : public ::testing::TestWithParam<Setup> {};
INSTANTIATE_TEST_SUITE_P(
    All, EmulatedEngineTest,
    ::testing::Values(Setup{"f32", ComputeType::kF32, "base"}, Setup{"bf16", ComputeType::kBF16, "base"},
                      Setup{"int8_keys", ComputeType::kBF16, "base", ElementType::kInt8},
                      Setup{"whole_rows", ComputeType::kBF16, "whole-rows"},
                      Setup{"whole_rows_int8_keys", ComputeType::kBF16, "whole-rows", ElementType::kInt8}),
    [](const auto& setup) { return setup.param.name; });

TEST_P(EmulatedEngineTest, ATranslationIsTheSameAloneAndAmongOthers) {
  EngineOptions options = Options(GetParam().compute, GetParam().model);
  options.kv_type = GetParam().kv_type;
  const std::unique_ptr<Engine> engine = Make(options);
  ASSERT_NE(engine, nullptr);
  EXPECT_THAT(engine->info().device, StartsWith("cuda"));
  std::mt19937 random(5);
  std::vector<TranslationRequest> requests;
  std::vector<std::string> alone;
  for (int i = 0; i < 8; ++i) {
    requests.push_back({.text = RandomDocument(random, 1 + i % 2), .options = EightSettings()[i]});
    const absl::StatusOr<TranslationResult> result = engine->Translate(requests.back());
    ASSERT_TRUE(result.ok()) << result.status();
    alone.push_back(Fingerprint(*result));
  }
  const auto listeners = SubmitAll(*engine, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    const absl::StatusOr<TranslationResult>& result = listeners[i]->Wait();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(Fingerprint(*result), alone[i]) << "setting " << i;
  }
}

class EmulatedDraftsTest : public ::testing::TestWithParam<ComputeType> {};
INSTANTIATE_TEST_SUITE_P(All, EmulatedDraftsTest, ::testing::Values(ComputeType::kF32, ComputeType::kBF16));

TEST_P(EmulatedDraftsTest, VerifiedDraftsAreFullDepth) {
  const std::unique_ptr<Engine> engine = Make(Options(GetParam()));
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(13);
  std::vector<std::shared_ptr<RecordingListener>> listeners;
  std::vector<TranslationResult> expected;
  for (size_t i = 0; i < 5; ++i) {
    TranslationRequest request{.text = RandomDocument(random, 1)};
    request.options.selection = EightSettings()[i].selection;
    const absl::StatusOr<TranslationResult> full = engine->Translate(request);
    ASSERT_TRUE(full.ok()) << full.status();
    expected.push_back(*full);
    request.options.depth = {
        .policy = DepthPolicy::kVerify, .draft_exit = 1 + static_cast<int32_t>(i) % 2, .draft_tokens = 2};
    request.options.trace = i == 1;
    listeners.push_back(std::make_shared<RecordingListener>());
    ASSERT_TRUE(engine->Submit(request, listeners.back()).ok());
    if (i == 0) listeners[0]->Wait();  // alone; the others with one another
  }
  for (size_t i = 0; i < listeners.size(); ++i) {
    const absl::StatusOr<TranslationResult>& verified = listeners[i]->Wait();
    ASSERT_TRUE(verified.ok()) << verified.status();
    EXPECT_EQ(verified->text, expected[i].text);
    ASSERT_EQ(verified->segments.size(), expected[i].segments.size());
    for (size_t s = 0; s < verified->segments.size(); ++s) {
      EXPECT_EQ(verified->segments[s].score, expected[i].segments[s].score) << "document " << i;
    }
    EXPECT_EQ(verified->report.exit_histogram, expected[i].report.exit_histogram);
  }
}

TEST(EmulatedEngineMarkersTest, AreKept) {
  const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kBF16, "markers"));
  ASSERT_NE(engine, nullptr);
  int markers = 0;
  EXPECT_EQ(WrongMarkersUnderEverySetting(*engine, EightSettings(), &markers, /*lines=*/2), "");
  EXPECT_GT(markers, 50);
}

// With a trace the host looks at every step; without one the device makes several by itself.
TEST(EmulatedDeviceTest, StepsThatTheDeviceMakesByItselfAreTheSame) {
  const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kF32));
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(9);
  for (size_t i = 0; i < 8; ++i) {
    TranslationRequest request{.text = RandomDocument(random, 2), .options = EightSettings()[i]};
    request.options.search.prefix = i % 2 == 0 ? "Das alte Haus" : "";
    const absl::StatusOr<TranslationResult> ahead = engine->Translate(request);
    request.options.trace = true;
    const absl::StatusOr<TranslationResult> traced = engine->Translate(request);
    ASSERT_TRUE(ahead.ok()) << ahead.status();
    ASSERT_TRUE(traced.ok()) << traced.status();
    EXPECT_EQ(Fingerprint(*ahead), Fingerprint(*traced)) << "setting " << i;
  }
}

// Beams of different widths in one batch, under different settings, some with a prefix: as each is alone step by step.
// The others come and go, so that what one records lies elsewhere from group to group.
TEST(EmulatedDeviceTest, BeamsOfAllWidthsGoAheadTogether) {
  EngineOptions options = Options(ComputeType::kF32);
  options.max_rows = 12;
  const std::unique_ptr<Engine> engine = Make(options);
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(29);
  std::vector<TranslationRequest> requests;
  std::vector<std::string> alone;
  for (const int32_t beam : {2, 5, 1, 4, 3, 6, 1, 2}) {
    const size_t i = requests.size();
    requests.push_back({.text = RandomDocument(random, 1), .options = EightSettings()[7 - i]});
    requests.back().options.search.beam = beam;
    requests.back().options.search.n_best = std::min(beam, 3);
    requests.back().options.search.length_penalty = 0.25 * static_cast<double>(i);
    if (i % 3 == 0) requests.back().options.search.prefix = "Das alte Haus";
    TranslationRequest traced = requests.back();
    traced.options.trace = true;
    const absl::StatusOr<TranslationResult> result = engine->Translate(traced);
    ASSERT_TRUE(result.ok()) << result.status();
    alone.push_back(Fingerprint(*result));
  }
  const auto listeners = SubmitAll(*engine, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(listeners[i]->Wait().ok()) << listeners[i]->Wait().status();
    EXPECT_EQ(Fingerprint(*listeners[i]->Wait()), alone[i]) << "request " << i;
  }
}

// While steps run that the device makes by itself the next are there for it: the host waits for everything that it has
// given the device only for encodings.
TEST(EmulatedDeviceTest, TheDeviceHasWorkWhileTheHostReadsWhatItDid) {
  const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kF32));
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(21), of_the_first(1);
  ASSERT_TRUE(engine->Translate({.text = RandomDocument(of_the_first, 1)}).ok());  // makes tables that are kept
  for (const int32_t beam : {1, 4}) {
    TranslationRequest request{.text = RandomDocument(random, 6)};
    request.options.search.beam = beam;
    const int64_t before = WaitsForEverything();
    const absl::StatusOr<TranslationResult> result = engine->Translate(request);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GT(result->report.target_tokens, 20);
    EXPECT_EQ(WaitsForEverything() - before, result->report.chunks) << "beam " << beam;
  }
}

// A pass that is launched while others decode leaves them a part of the device; one that nobody waits beside does not.
TEST(EmulatedDeviceTest, EncodingLeavesRoomForThoseWhoDecode) {
  const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kBF16));
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(11);
  const int64_t before = emulation::GemmsThatLeftRoom();
  ASSERT_TRUE(engine->Translate({.text = RandomDocument(random, 1)}).ok());
  EXPECT_EQ(emulation::GemmsThatLeftRoom(), before);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 4; ++i) {  // more than one pass takes
    requests.push_back({.text = RandomDocument(random, 12)});
    requests.back().options.search.max_length_ratio = 0.5;
  }
  for (const auto& listener : SubmitAll(*engine, requests)) EXPECT_TRUE(listener->Wait().ok());
  EXPECT_GT(emulation::GemmsThatLeftRoom(), before);
}

// Documents leave while steps are under way that they take part in, and others take their rows and their memory.
TEST(EmulatedDeviceTest, WhoLeavesWhileStepsAreUnderWayChangesNoOther) {
  EngineOptions options = Options(ComputeType::kF32);
  options.max_rows = 6;
  const std::unique_ptr<Engine> engine = Make(options);
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(23);
  std::vector<TranslationRequest> requests;
  std::vector<std::string> alone;
  for (const int setting : {0, 6, 3, 7, 5}) {
    requests.push_back({.text = RandomDocument(random, 2), .options = EightSettings()[setting]});
    const absl::StatusOr<TranslationResult> result = engine->Translate(requests.back());
    ASSERT_TRUE(result.ok()) << result.status();
    alone.push_back(Fingerprint(*result));
  }
  std::vector<std::shared_ptr<CancellingListener>> cancelled;
  for (const int32_t beam : {1, 3}) {
    TranslationRequest request{.text = RandomDocument(random, 20)};
    request.options.search.beam = beam;
    cancelled.push_back(std::make_shared<CancellingListener>());
    const auto ticket = engine->Submit(request, cancelled.back());
    ASSERT_TRUE(ticket.ok()) << ticket.status();
    cancelled.back()->CancelsAtFirstTokens(*ticket);
  }
  const auto listeners = SubmitAll(*engine, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(listeners[i]->Wait().ok()) << listeners[i]->Wait().status();
    EXPECT_EQ(Fingerprint(*listeners[i]->Wait()), alone[i]) << "request " << i;
  }
  for (const auto& one : cancelled) EXPECT_EQ(one->Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(engine->status().kv_bytes_used, 0);
}

// Chunks that outgrow what was reserved for them make others give way, while steps of theirs are under way.
TEST(EmulatedDeviceTest, LittleMemoryChangesNothing) {
  std::mt19937 random(17);
  std::vector<TranslationRequest> requests;
  for (const int setting : {0, 1, 7, 3, 6, 5, 7, 3}) {
    requests.push_back({.text = RandomDocument(random, 1), .options = EightSettings()[setting]});
    requests.back().options.search.max_length_ratio = 20;
    requests.back().options.search.prefix = RandomDocument(random, 5);  // longer than what is usual
  }
  EngineOptions options = Options(ComputeType::kF32);
  std::vector<std::string> expected;
  for (const int64_t kv_bytes : {int64_t{64 << 20}, int64_t{2 << 20}}) {
    options.kv_bytes = kv_bytes;
    SuspensionCounter counter;
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options, &counter);
    ASSERT_TRUE(engine.ok()) << engine.status();
    std::vector<std::string> prints;
    for (const auto& listener : SubmitAll(**engine, requests)) {
      ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
      prints.push_back(Fingerprint(*listener->Wait()));
    }
    EXPECT_EQ(counter.preempted > 0, !expected.empty()) << counter.preempted;
    if (expected.empty()) expected = prints;
    EXPECT_EQ(prints, expected);
  }
}

// Wherever the device fails, while it encodes or with steps under way, what it was translating fails with it and the
// next finds a device opened anew.
TEST(EmulatedDeviceTest, AFailedDeviceFailsWhatIsUnderWayAndIsOpenedAnew) {
  const TranslationRequest next_request{.text = "The answer came late."};
  std::string expected;
  for (const int64_t launches : {600, 700, 800, 1000, 1500}) {
    FailNextDeviceAfter(launches, /*lasts=*/false);
    const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kF32));
    ASSERT_NE(engine, nullptr);
    std::mt19937 random(7);
    const absl::StatusOr<TranslationResult> failed = engine->Translate({.text = RandomDocument(random, 5)});
    EXPECT_EQ(failed.status().code(), absl::StatusCode::kUnavailable) << launches;
    EXPECT_THAT(failed.status().message(), HasSubstr("too many resources requested"));
    const absl::StatusOr<TranslationResult> next = engine->Translate(next_request);
    ASSERT_TRUE(next.ok()) << next.status();
    if (expected.empty()) expected = Fingerprint(*next);
    EXPECT_EQ(Fingerprint(*next), expected);
    EXPECT_EQ(engine->status().kv_bytes_used, 0);
  }
}

// The memory for keys is that of the model that was loaded first, so another one in its folder is not opened with it.
TEST(EmulatedDeviceTest, ADeviceIsNotOpenedAnewWithAnotherModel) {
  const TempFolder temp;
  std::filesystem::copy(absl::StrCat(SALIENT_TINY_MODELS, "/base"), temp.path(),
                        std::filesystem::copy_options::recursive);
  FailNextDeviceAfter(700, /*lasts=*/false);
  EngineOptions options = Options(ComputeType::kF32);
  options.model_folder = temp.path();
  const std::unique_ptr<Engine> engine = Make(options);
  ASSERT_NE(engine, nullptr);
  nlohmann::json config = nlohmann::json::parse(ReadFile(temp / "config.json"));
  config["chunk_tokens"] = config.at("chunk_tokens").get<int>() * 2;
  WriteFile(temp / "config.json", config.dump());
  std::mt19937 random(7);
  EXPECT_FALSE(engine->Translate({.text = RandomDocument(random, 5)}).ok());
  const absl::Status next = engine->Translate({.text = "The answer came late."}).status();
  EXPECT_EQ(next.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(next.message()), HasSubstr("config.json is not as it was"));
}

TEST(EmulatedDeviceTest, MoreKeyMemoryThanThereIsIsRefusedBeforeItIsTaken) {
  LimitNextDevice(size_t{300} << 20);
  EngineOptions options = Options(ComputeType::kF32);
  options.kv_bytes = 200 << 20;
  const absl::Status status = Engine::Create(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--kv-memory asks for 209715200 bytes"));
}

// Every allocation of a start fails once: the start fails with it and says what to do. Then one fails that a
// translation makes, which fails; the next one finds a device opened anew.
TEST(EmulatedDeviceTest, RunningOutOfMemoryAnywhereIsAnErrorThatSaysWhatToDo) {
  std::unique_ptr<Engine> engine;
  int64_t allocations = 0;
  while (true) {
    FailNextDevicesAllocation(allocations, false);
    absl::StatusOr<std::unique_ptr<Engine>> made = Engine::Create(Options(ComputeType::kBF16));
    if (made.ok()) {
      engine = *std::move(made);
      break;
    }
    ASSERT_EQ(made.status().code(), absl::StatusCode::kResourceExhausted) << made.status();
    ASSERT_THAT(std::string(made.status().message()), HasSubstr("less --kv-memory"));
    ++allocations;
  }
  EXPECT_GE(allocations, 2);  // keys, and a slab for the rest
  const TranslationRequest request{.text = "The answer came late."};
  const absl::StatusOr<TranslationResult> failed = engine->Translate(request);
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted) << failed.status();
  const absl::StatusOr<TranslationResult> next = engine->Translate(request);
  EXPECT_TRUE(next.ok()) << next.status();
}

TEST(EmulatedDeviceTest, MemoryThatCannotBePinnedIsOrdinaryMemory) {
  const TranslationRequest request{.text = "The answer came late."};
  std::string expected;
  for (const int64_t allocations : {-1, 0, 3}) {
    FailNextDevicesAllocation(allocations, true);
    const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kF32));
    ASSERT_NE(engine, nullptr);
    const absl::StatusOr<TranslationResult> result = engine->Translate(request);
    ASSERT_TRUE(result.ok()) << result.status();
    if (expected.empty()) expected = Fingerprint(*result);
    EXPECT_EQ(Fingerprint(*result), expected);
  }
}

// CUDA refuses everything in a process after an error of a kernel: the engine ends and says that the process must be
// restarted, and so does every other engine that is opened in it.
TEST(EmulatedDeviceTest, AnErrorThatLastsEndsTheEngineAndNoOtherCanBeOpened) {
  FailNextDeviceAfter(800, /*lasts=*/true);
  const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kF32));
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(7);
  const absl::StatusOr<TranslationResult> failed = engine->Translate({.text = RandomDocument(random, 5)});
  EXPECT_THAT(failed.status().message(), HasSubstr("illegal memory access"));
  const absl::StatusOr<TranslationResult> next = engine->Translate({.text = "The answer came late."});
  EXPECT_EQ(next.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(next.status().message(), HasSubstr("restart the process"));
  EXPECT_EQ(engine->status().state, EngineState::kDead);
  EXPECT_THAT(Engine::Create(Options(ComputeType::kF32)).status().message(), HasSubstr("restart the process"));
  emulation::RestartProcess();
  EXPECT_NE(Make(Options(ComputeType::kF32)), nullptr);
}

// The base model in a folder of its own, with scores that are not numbers: two rows of its classifier overflow.
class ModelWithoutScores {
 public:
  ModelWithoutScores() {
    std::filesystem::copy(Options(ComputeType::kF32).model_folder, folder_);
    std::fstream file(folder_ + "/model.safetensors", std::ios::binary | std::ios::in | std::ios::out);
    uint64_t header_bytes = 0;
    file.read(reinterpret_cast<char*>(&header_bytes), sizeof(header_bytes));
    std::string header(header_bytes, '\0');
    file.read(header.data(), static_cast<std::streamsize>(header_bytes));
    const nlohmann::json embedding = nlohmann::json::parse(header)["embedding.weight"];
    const size_t rows = embedding["shape"][0], width = embedding["shape"][1], begin = embedding["data_offsets"][0];
    std::vector<float> values(2 * width, 3e38f);
    std::fill(values.begin() + static_cast<ptrdiff_t>(width), values.end(), -3e38f);
    file.seekp(static_cast<std::streamoff>(sizeof(header_bytes) + header_bytes + begin + (rows - 2) * width * 4));
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
    EXPECT_TRUE(file.flush().good());
  }
  const std::string& folder() const { return folder_; }

 private:
  const TempFolder temp_;
  const std::string& folder_ = temp_.path();
};

// What can be wrong with one engine of two that share the memory for keys.
struct Fault {
  std::string name;
  absl::StatusCode code;  // of the document that it ends
  std::function<std::unique_ptr<Engine>(EngineOptions, const ModelWithoutScores&)> make;
  bool stays;  // for every later document
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class TwoEnginesTest : public ::testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(
    All, TwoEnginesTest,
    ::testing::Values(Fault{"launch", absl::StatusCode::kUnavailable,
                            [](const EngineOptions& options, const ModelWithoutScores&) {
                              FailNextDeviceAfter(800, /*lasts=*/false);
                              return Make(options);
                            },
                            false},
                      Fault{"allocation", absl::StatusCode::kResourceExhausted,
                            [](const EngineOptions& options, const ModelWithoutScores&) {
                              for (int64_t allocations = 0;; ++allocations) {  // the first after those of the start
                                FailNextDevicesAllocation(allocations, /*pinned=*/false);
                                auto made = Engine::Create(options);
                                if (made.ok()) return *std::move(made);
                              }
                            },
                            false},
                      Fault{"scores", absl::StatusCode::kInternal,
                            [](EngineOptions options, const ModelWithoutScores& model) {
                              options.model_folder = model.folder();
                              return Make(options);
                            },
                            true}),
    [](const auto& fault) { return fault.param.name; });

TEST_P(TwoEnginesTest, TheFailureOfOneLeavesTheOtherAlone) {
  EngineOptions options = Options(ComputeType::kF32);
  options.key_memory = std::make_shared<KeyMemory>(options.kv_bytes);
  std::unique_ptr<Engine> sound = Make(options);
  ASSERT_NE(sound, nullptr);
  const std::unique_ptr<Backend> asking = MakeReferenceBackend();  // asked nothing, for the memory is there
  const std::shared_ptr<KeyPools> pools = *options.key_memory->On("cuda", *asking);
  std::mt19937 random(31);
  std::vector<TranslationRequest> requests;
  std::vector<std::string> alone;
  for (const int setting : {0, 2, 5, 6}) {
    requests.push_back({.text = RandomDocument(random, 2), .options = EightSettings()[setting]});
    const absl::StatusOr<TranslationResult> result = sound->Translate(requests.back());
    ASSERT_TRUE(result.ok()) << result.status();
    alone.push_back(Fingerprint(*result));
  }
  const ModelWithoutScores model;
  std::unique_ptr<Engine> failing = GetParam().make(options, model);
  ASSERT_NE(failing, nullptr);
  const auto beside = SubmitAll(*sound, requests);
  const absl::StatusOr<TranslationResult> failed = failing->Translate({.text = RandomDocument(random, 5)});
  EXPECT_EQ(failed.status().code(), GetParam().code) << failed.status();
  for (const auto& listeners : {beside, SubmitAll(*sound, requests)}) {  // during the failure, and after it
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(listeners[i]->Wait().ok()) << listeners[i]->Wait().status();
      EXPECT_EQ(Fingerprint(*listeners[i]->Wait()), alone[i]) << "request " << i;
    }
  }
  EXPECT_EQ(sound->status().state, EngineState::kHealthy);
  const absl::StatusOr<TranslationResult> next = failing->Translate(requests[0]);
  EXPECT_EQ(failing->status().state, EngineState::kHealthy);
  if (GetParam().stays) {
    EXPECT_EQ(next.status().code(), GetParam().code);
  } else {
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(Fingerprint(*next), alone[0]);
  }
  sound.reset();
  const int32_t kept = pools->self.taken();
  failing.reset();
  EXPECT_GT(kept, pools->self.taken());
  EXPECT_EQ(pools->self.taken(), 0);
  EXPECT_EQ(pools->cross.taken(), 0);
}

// A device that has failed keeps nothing that others could use.
TEST(EmulatedDeviceTest, WhoFailsGivesBackItsPages) {
  EngineOptions options = Options(ComputeType::kF32);
  options.key_memory = std::make_shared<KeyMemory>(options.kv_bytes);
  FailNextDeviceAfter(1500, /*lasts=*/false);
  const std::unique_ptr<Engine> failing = Make(options);
  ASSERT_NE(failing, nullptr);
  const std::unique_ptr<Backend> asking = MakeReferenceBackend();
  const std::shared_ptr<KeyPools> pools = *options.key_memory->On("cuda", *asking);
  std::mt19937 random(7);
  EXPECT_FALSE(failing->Translate({.text = RandomDocument(random, 5)}).ok());
  EXPECT_EQ(pools->self.taken(), 0);
  EXPECT_EQ(pools->cross.taken(), 0);
  EXPECT_TRUE(failing->Translate({.text = "The answer came late."}).ok());
  EXPECT_GT(pools->self.taken(), 0);
}

// An error that lasts is the whole process's, as with CUDA: the other engine ends, too, without a wrong translation.
TEST(EmulatedDeviceTest, AnErrorThatLastsEndsTheOtherEngineToo) {
  const std::unique_ptr<Engine> other = Make(Options(ComputeType::kF32));
  ASSERT_NE(other, nullptr);
  ASSERT_TRUE(other->Translate({.text = "The answer came late."}).ok());
  FailNextDeviceAfter(800, /*lasts=*/true);
  const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kF32));
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(7);
  ASSERT_FALSE(engine->Translate({.text = RandomDocument(random, 5)}).ok());
  EXPECT_EQ(other->Translate({.text = "The answer came late."}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(other->Translate({.text = "The answer came late."}).status().message(), HasSubstr("restart the process"));
  EXPECT_EQ(other->status().state, EngineState::kDead);
  emulation::RestartProcess();
}

// In a copy from ordinary memory the host waits for its turn in the stream: behind a whole encoder pass, for one.
TEST(EmulatedDeviceTest, TranslatingCopiesFromPinnedMemoryOnly) {
  const std::unique_ptr<Engine> engine = Make(Options(ComputeType::kBF16));
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(11);
  std::vector<TranslationRequest> requests;
  for (const TranslationOptions& setting : EightSettings()) {
    requests.push_back({.text = RandomDocument(random, 1), .options = setting});
  }
  int64_t copies = 0;
  for (int round = 0; round < 2; ++round) {  // the first makes tables that are kept
    copies = PageableCopies();
    for (const auto& listener : SubmitAll(*engine, requests)) {
      ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
    }
  }
  EXPECT_EQ(PageableCopies(), copies);
}

TEST(EmulatedDeviceTest, AutoTakesTheDeviceInTheNumbersThatAreAskedFor) {
  EngineOptions options = Options(ComputeType::kInt8);
  options.device = "auto";
  const std::unique_ptr<Engine> engine = Make(options);
  ASSERT_NE(engine, nullptr);
  EXPECT_THAT(engine->info().device, StartsWith("cuda int8"));
  const absl::StatusOr<TranslationResult> result =
      engine->Translate({.text = "We walked along the river. In winter the lake freezes."});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->segments.size(), 2u);
}

}  // namespace
}  // namespace salient

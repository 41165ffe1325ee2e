#include "engine/engine.h"

#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <future>
#include <numeric>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "engine/device.h"
#include "engine/text/document.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/documents.h"
#include "tests/testing/listener.h"
#include "tests/testing/marked_documents.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::salient::testing::EightSettings;
using ::salient::testing::Fingerprint;
using ::salient::testing::HoldingObserver;
using ::salient::testing::Occurrences;
using ::salient::testing::RandomDocument;
using ::salient::testing::RecordingListener;
using ::salient::testing::SubmitAll;
using ::salient::testing::WrongMarkers;
using ::salient::testing::WrongMarkersUnderEverySetting;
using ::testing::HasSubstr;

std::string TinyModel(const std::string& variant) { return std::string(SALIENT_TINY_MODELS) + "/" + variant; }

struct Setup {
  std::string device;
  ComputeType compute = ComputeType::kAuto;
  std::optional<ElementType> kv_type;
};

class EngineTest : public ::testing::TestWithParam<Setup> {
 protected:
  EngineOptions Options(const std::string& variant = "base") const {
    return {.model_folder = TinyModel(variant),
            .device = GetParam().device,
            .compute = GetParam().compute,
            .threads = 2,
            .max_rows = 24,
            .encode_tokens = 300,
            .kv_bytes = 64 << 20,
            .kv_type = GetParam().kv_type};
  }
  std::unique_ptr<Engine> Make(const EngineOptions& options, EngineObserver* observer = nullptr) const {
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options, observer);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }
};

TEST_P(EngineTest, ATranslationIsTheSameAloneAndAmongOthers) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(5);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 32; ++i) {
    requests.push_back(
        {.text = RandomDocument(random, 1 + static_cast<int>(random() % 9)), .options = EightSettings()[i % 8]});
  }
  std::vector<std::string> alone;
  for (const TranslationRequest& request : requests) {
    const absl::StatusOr<TranslationResult> result = engine->Translate(request);
    ASSERT_TRUE(result.ok()) << result.status();
    alone.push_back(Fingerprint(*result));
  }
  for (int round = 0; round < 2; ++round) {
    std::vector<size_t> order(requests.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::shared_ptr<RecordingListener>> listeners(requests.size());
    for (const size_t i : order) {
      listeners[i] = std::make_shared<RecordingListener>();
      ASSERT_TRUE(engine->Submit(requests[i], listeners[i]).ok());
    }
    bool shared = false;
    for (size_t i = 0; i < requests.size(); ++i) {
      const absl::StatusOr<TranslationResult>& result = listeners[i]->Wait();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(Fingerprint(*result), alone[i]) << "document " << i << ", setting " << i % 8;
      shared |= result->report.peak_documents_per_step > 1;
    }
    EXPECT_TRUE(shared) << "no two documents ever shared a step";
  }
}

TEST_P(EngineTest, MarkersAreKept) {
  const std::unique_ptr<Engine> engine = Make(Options("markers"));
  ASSERT_NE(engine, nullptr);
  int markers = 0;
  EXPECT_EQ(WrongMarkersUnderEverySetting(*engine, EightSettings(), &markers), "");
  EXPECT_GT(markers, 100);
}

// The tiny models know ASCII's letters and a few more.
TEST_P(EngineTest, WhatAModelDoesNotKnowIsCopied) {
  const std::vector<std::string> unknown = {"\u0141ukasz", "\u20ac", "\u65e5\u672c", "\U0001F469\u200D\U0001F4BB"};
  const std::unique_ptr<Engine> engine = Make(Options("markers"));
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(17);
  for (TranslationOptions options : EightSettings()) {
    options.alignment = true;
    std::string text;
    for (int i = 0; i < 4; ++i) {
      for (int w = 0; w < 5; ++w) text += "the " + unknown[random() % unknown.size()] + " house\u200B ";
      text += "\u27e60\u27e7river\u27e61\u27e7 \u27e65\u27e7.\n";
    }
    const absl::StatusOr<TranslationResult> result =
        engine->Translate({.text = text, .segmentation = Segmentation::kLines, .options = options});
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->segments.size(), 4u);
    for (const TranslatedSegment& segment : result->segments) {
      EXPECT_NE(segment.source.find("\u200B"), std::string::npos) << "the source must stay as it was";
      EXPECT_EQ(WrongMarkers(segment.source, segment.text), "");
      for (const std::string& part : unknown) {
        EXPECT_EQ(Occurrences(segment.text, part), Occurrences(segment.source, part)) << segment.text;
      }
      for (const TokenLink& link : segment.alignment) {
        EXPECT_LE(link.source_end, static_cast<int32_t>(segment.source.size()));
        EXPECT_LE(link.target_end, static_cast<int32_t>(segment.text.size()));
      }
    }
    for (const std::string& alternative : result->alternatives) {
      for (const std::string& part : unknown) EXPECT_EQ(Occurrences(alternative, part), Occurrences(text, part));
    }
  }
}

// A model of several languages suppresses their tokens, and its translations are made to begin with one.
TEST_P(EngineTest, TheTokenOfTheTargetLanguageCountsAsGiven) {
  const std::unique_ptr<Engine> engine = Make(Options("multilingual"));
  ASSERT_NE(engine, nullptr);
  TranslationRequest request{
      .text = "The old house stands at the river.", .source_language = "en", .target_language = "de"};
  request.options.trace = true;
  for (const int32_t beam : {1, 4}) {
    request.options.search.beam = beam;
    const absl::StatusOr<TranslationResult> result = engine->Translate(request);
    ASSERT_TRUE(result.ok()) << result.status();
    const TranslatedSegment& segment = result->segments[0];
    EXPECT_EQ(segment.trace[0].probability, 1);
    double score = 0;  // without what closes the segment
    for (const TokenTrace& token : segment.trace) score += std::log(token.probability);
    EXPECT_LE(segment.score, score + 1e-3);
    EXPECT_GT(segment.score, score - 100);
  }
}

class CountingObserver : public HoldingObserver {
 public:
  void OnStall(double) override { ++stalls; }
  void OnPreempt() override { ++preempted; }
  std::atomic<int> stalls = 0, preempted = 0;
};

// With slices of no time at all one range of rows is encoded after each step of those under way.
TEST_P(EngineTest, HowEncodingIsSlicedChangesNothing) {
  std::mt19937 random(15);
  const std::string first = RandomDocument(random, 30);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 12; ++i) {
    requests.push_back({.text = RandomDocument(random, 4 + 8 * (i % 3)), .options = EightSettings()[i % 8]});
  }
  std::vector<std::string> expected;
  std::vector<int> stalls;
  for (const absl::Duration slice : {absl::InfiniteDuration(), absl::Microseconds(200), absl::ZeroDuration()}) {
    EngineOptions options = Options();
    options.encode_slice = slice;
    CountingObserver counter;
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options, &counter);
    ASSERT_TRUE(engine.ok()) << engine.status();
    ASSERT_TRUE((*engine)->Submit({.text = first}, std::make_shared<RecordingListener>()).ok());
    const absl::Cleanup let_go = [&] { counter.LetGo(); };  // also where this test fails
    counter.WaitUntilHeld();                                // so that the others are encoded while this one is decoded
    const auto listeners = SubmitAll(**engine, requests);
    absl::SleepFor(absl::Milliseconds(100));  // until they are cut
    counter.LetGo();
    std::vector<std::string> prints;
    for (const auto& listener : listeners) {
      ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
      prints.push_back(Fingerprint(*listener->Wait()));
    }
    if (expected.empty()) expected = prints;
    EXPECT_EQ(prints, expected) << slice;
    stalls.push_back(counter.stalls);
  }
  EXPECT_GT(stalls[0], 0);
  EXPECT_GT(stalls[2], 2 * stalls[0]);
}

TEST_P(EngineTest, ADocumentCancelledWhileItIsEncodedLeavesTheOthersOfItsPassAlone) {
  EngineOptions options = Options();
  options.encode_slice = absl::ZeroDuration();
  HoldingObserver holding;
  holding.LetGo();
  const std::unique_ptr<Engine> engine = Make(options, &holding);
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(16);
  const TranslationRequest kept{.text = RandomDocument(random, 5)}, cancelled{.text = RandomDocument(random, 5)};
  const absl::StatusOr<TranslationResult> expected = engine->Translate(kept);
  ASSERT_TRUE(expected.ok()) << expected.status();
  holding.HoldAgain();
  ASSERT_TRUE(engine->Submit({.text = RandomDocument(random, 30)}, std::make_shared<RecordingListener>()).ok());
  const absl::Cleanup let_go = [&] { holding.LetGo(); };
  holding.WaitUntilHeld();
  const auto listener = std::make_shared<RecordingListener>();
  const auto cancelling = std::make_shared<RecordingListener>();
  auto ticket = engine->Submit(cancelled, cancelling);
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(engine->Submit(kept, listener).ok());
  absl::SleepFor(absl::Milliseconds(100));  // until they are cut
  holding.LetOneGo();                       // a slice of their pass, and a step of the first
  (*ticket)->Cancel();
  holding.LetGo();
  EXPECT_EQ(cancelling->Wait().status().code(), absl::StatusCode::kCancelled);
  ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
  EXPECT_EQ(Fingerprint(*listener->Wait()), Fingerprint(*expected));
}

// With memory for one or two long translations, those that outgrow what was reserved make others begin anew.
TEST_P(EngineTest, LittleMemoryChangesNothing) {
  std::mt19937 random(17);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 16; ++i) {
    requests.push_back({.text = RandomDocument(random, 2), .options = EightSettings()[i % 8]});
    requests.back().options.search.max_length_ratio = 20;
    requests.back().options.search.prefix = RandomDocument(random, 9);  // longer than what is usual
  }
  EngineOptions options = Options();
  std::vector<std::string> expected;
  const bool wide = GetParam().device == "reference" || GetParam().compute == ComputeType::kF32;
  const int64_t little = GetParam().kv_type.has_value() ? 11 << 18 : wide ? 6 << 20 : 15 << 18;
  for (const int64_t kv_bytes : {options.kv_bytes, little}) {
    options.kv_bytes = kv_bytes;
    CountingObserver counter;
    counter.LetGo();
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options, &counter);
    ASSERT_TRUE(engine.ok()) << engine.status();
    const auto listeners = SubmitAll(**engine, requests);
    std::vector<std::string> prints;
    for (const auto& listener : listeners) {
      ASSERT_TRUE(listener->Wait().ok()) << listener->Wait().status();
      prints.push_back(Fingerprint(*listener->Wait()));
      EXPECT_EQ(listener->segments().size(), listener->Wait()->segments.size());
    }
    EXPECT_EQ((*engine)->status().kv_bytes_used, 0);
    EXPECT_EQ(counter.preempted > 0, !expected.empty()) << counter.preempted;
    if (expected.empty()) expected = prints;
    EXPECT_EQ(prints, expected);
  }
}

// What must be the same however it is found: text, scores and what a trace says, but not what it cost.
std::string Choices(const TranslationResult& result) {
  std::string choices = result.text;
  char number[64];
  for (const TranslatedSegment& segment : result.segments) {
    std::snprintf(number, sizeof(number), "|%a %d %d", segment.score, segment.target_tokens, segment.length_limited);
    choices += number;
    for (const TokenTrace& token : segment.trace) {
      std::snprintf(number, sizeof(number), " %a %d", token.probability, token.exit_layer);
      choices.append(" ").append(token.piece).append(number);
      for (const int32_t position : token.selected) choices.append(",").append(std::to_string(position));
    }
  }
  for (const int64_t count : result.report.exit_histogram) choices.append(" ").append(std::to_string(count));
  return choices;
}

// Drafts of every exit and length, alone, then all of them together with who does not draft.
TEST_P(EngineTest, VerifiedDraftsAreFullDepthBitForBit) {
  std::mt19937 random(21);
  int64_t drafts_taken = 0;
  for (const std::string variant : {"base", "post", "each-layer", "no-selection"}) {
    const std::unique_ptr<Engine> engine = Make(Options(variant));
    ASSERT_NE(engine, nullptr);
    std::vector<TranslationRequest> requests;
    std::vector<std::string> expected;
    std::vector<SelectionOptions> selections = {{.policy = SelectionPolicy::kDense},
                                                {.policy = SelectionPolicy::kWindow, .value = 5}};
    if (variant != "no-selection") {
      selections.push_back({.policy = SelectionPolicy::kLearned});
      selections.push_back({.policy = SelectionPolicy::kRatio, .value = 0.2, .min_keys = 2});
      selections.push_back({.policy = SelectionPolicy::kMass, .value = 0.8, .min_keys = 1});
    }
    for (const SelectionOptions& selection : selections) {
      for (int32_t exit = 1; exit < engine->info().config.decoder.layers; ++exit) {
        for (const int32_t tokens : {1, 3, 7}) {
          TranslationRequest request{.text = RandomDocument(random, 1 + static_cast<int>(random() % 6))};
          request.options.selection = selection;
          request.options.search.max_length_ratio = 1.0;
          if (random() % 4 == 0) request.options.search.prefix = "Das alte Haus";
          request.options.trace = random() % 2 == 0;
          request.options.search.shortlist = engine->info().config.has_shortlist && random() % 2 == 0;
          const absl::StatusOr<TranslationResult> full = engine->Translate(request);
          ASSERT_TRUE(full.ok()) << full.status();
          expected.push_back(Choices(*full));
          request.options.depth = {.policy = DepthPolicy::kVerify, .draft_exit = exit, .draft_tokens = tokens};
          const absl::StatusOr<TranslationResult> verified = engine->Translate(request);
          ASSERT_TRUE(verified.ok()) << verified.status();
          EXPECT_EQ(Choices(*verified), expected.back()) << variant << ", exit " << exit << ", " << tokens << " tokens";
          EXPECT_GE(verified->report.draft_acceptance, 0);
          EXPECT_LE(verified->report.draft_acceptance, 1);
          EXPECT_EQ(verified->report.decoder_flops_full_depth, full->report.decoder_flops_full_depth);
          EXPECT_GE(verified->report.decoder_flops, full->report.decoder_flops);
          drafts_taken += verified->report.draft_acceptance > 0;
          requests.push_back(request);
        }
      }
    }
    for (const TranslationOptions& options : EightSettings()) {
      if (variant != "base") break;
      requests.push_back({.text = RandomDocument(random, 3), .options = options});
      const absl::StatusOr<TranslationResult> alone = engine->Translate(requests.back());
      ASSERT_TRUE(alone.ok()) << alone.status();
      expected.push_back(Choices(*alone));
    }
    const auto listeners = SubmitAll(*engine, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      const absl::StatusOr<TranslationResult>& result = listeners[i]->Wait();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(Choices(*result), expected[i]) << variant << ", request " << i << " among others";
    }
    EXPECT_EQ(engine->status().kv_bytes_used, 0);
  }
  EXPECT_GT(drafts_taken, 0) << "no draft was ever right: nothing was tested";
}

TEST_P(EngineTest, EverySegmentComesBackOnceAndInOrder) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(6);
  const std::string text = RandomDocument(random, 60);  // several chunks
  auto listener = std::make_shared<RecordingListener>();
  ASSERT_TRUE(engine->Submit({.text = text}, listener).ok());
  const absl::StatusOr<TranslationResult>& result = listener->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  const absl::StatusOr<SegmentedDocument> split = SplitDocument(text, Segmentation::kSentences, "en");
  EXPECT_EQ(result->segments.size(), split->segments.size());
  EXPECT_GT(result->report.chunks, 1);
  const std::vector<TranslatedSegment> streamed = listener->segments();
  ASSERT_EQ(streamed.size(), result->segments.size());
  for (size_t i = 0; i < streamed.size(); ++i) {
    EXPECT_EQ(streamed[i].index, static_cast<int32_t>(i));
    EXPECT_EQ(streamed[i].text, result->segments[i].text);
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(result->text.begin(), result->text.end(), '\n'));
  EXPECT_EQ(listener->times_done(), 1);
}

TEST_P(EngineTest, TextWithoutLettersComesBackAsItIs) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  const std::string text = " 12 \n\n - 3.5 %\r\n\t";
  const absl::StatusOr<TranslationResult> result = engine->Translate({.text = text});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text, text);
  EXPECT_EQ(result->report.segments, 0);
}

TEST_P(EngineTest, APrefixIsHowTheTranslationBegins) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  TranslationRequest request{.text = "The old house stands at the river. Nobody knew the answer."};
  request.options.search.prefix = "Das alte Haus";
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text.rfind("Das alte Haus", 0), 0u) << result->text;
}

// Alone a chunk's product is over its list alone, beside others over the vocabulary, or not, as they come. Some
// translations are bound to their lists, some leave by their confidence in them, some do both.
TEST_P(EngineTest, ChunksWithShortlistsAreTheSameAloneAndTogether) {
  for (const std::string variant : {"base", "post"}) {
    const std::unique_ptr<Engine> engine = Make(Options(variant));
    ASSERT_NE(engine, nullptr);
    std::mt19937 random(15);
    std::vector<TranslationRequest> requests;
    for (int i = 0; i < 8; ++i) {
      requests.push_back({.text = RandomDocument(random, 1 + i)});
      requests.back().options.search = {.beam = 1 + i % 3, .max_length_ratio = 1.0, .shortlist = i % 4 != 3};
      if (i % 2 == 1) requests.back().options.depth = {.policy = DepthPolicy::kConfidence, .thresholds = {0.3}};
    }
    std::vector<std::string> alone;
    for (const TranslationRequest& request : requests) {
      const absl::StatusOr<TranslationResult> result = engine->Translate(request);
      ASSERT_TRUE(result.ok()) << result.status();
      alone.push_back(Fingerprint(*result));
    }
    const auto listeners = SubmitAll(*engine, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      const absl::StatusOr<TranslationResult>& result = listeners[i]->Wait();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(Fingerprint(*result), alone[i]) << variant << ", document " << i;
    }
  }
}

TEST_P(EngineTest, APrefixNeedNotBeInTheShortlist) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  TranslationRequest request{.text = "The old house stands at the river. Nobody knew the answer."};
  request.options.search.prefix = "Das alte Häuschen \u2603";
  request.options.search.shortlist = true;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text.rfind("Das alte Häuschen \u2603", 0), 0u) << result->text;
}

TEST_P(EngineTest, AModelWithoutAShortlistSaysSo) {
  const std::unique_ptr<Engine> engine = Make(Options("plain"));
  ASSERT_NE(engine, nullptr);
  EXPECT_FALSE(engine->info().config.has_shortlist);
  TranslationRequest request{.text = "The old house."};
  request.options.search.shortlist = true;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("search.shortlist"));
}

TEST_P(EngineTest, APrefixBeyondTheFirstSegmentsRoomIsRefused) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  TranslationRequest request{.text = "The old house."};
  for (int i = 0; i < 100; ++i) request.options.search.prefix += "Das alte Haus steht am Fluss. ";
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("search.prefix"));
}

// Without pieces for bytes a vocabulary lacks most characters.
TEST_P(EngineTest, APrefixThatTheModelCannotWriteIsRefused) {
  TempFolder folder;
  for (const auto& file : std::filesystem::directory_iterator(TinyModel("multilingual"))) {
    std::filesystem::copy(file.path(), folder.path());
  }
  std::string pieces = ReadFile(folder / "vocabulary.json");
  const std::string byte = "<0xE2>";  // the first of a snowman
  ASSERT_NE(pieces.find(byte), std::string::npos);
  WriteFile(folder / "vocabulary.json", pieces.replace(pieces.find(byte), byte.size(), "another"));
  EngineOptions options = Options();
  options.model_folder = folder.path();
  const std::unique_ptr<Engine> engine = Make(options);
  ASSERT_NE(engine, nullptr);
  TranslationRequest request{.text = "The old house.", .source_language = "en", .target_language = "de"};
  request.options.search.prefix = "Das \u2603";
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("search.prefix"));
  request.options.search.prefix = "Das";
  EXPECT_TRUE(engine->Translate(request).ok());
}

TEST_P(EngineTest, ATraceTellsExitAndProbabilityOfEveryToken) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  TranslationRequest request{.text = "The train leaves at seven. The lake freezes in winter when it is cold."};
  request.options.trace = true;
  request.options.selection = {.policy = SelectionPolicy::kRatio, .value = 0.1, .min_keys = 2};
  request.options.depth.policy = DepthPolicy::kGeometric;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const TranslatedSegment& segment : result->segments) {
    ASSERT_EQ(static_cast<int32_t>(segment.trace.size()), segment.target_tokens);
    for (const TokenTrace& token : segment.trace) {
      EXPECT_GE(token.exit_layer, 1);
      EXPECT_LE(token.exit_layer, 3);
      EXPECT_GT(token.probability, 0);
      EXPECT_LE(token.probability, 1);
      EXPECT_GE(token.selected.size(), 2u);
    }
  }
}

TEST_P(EngineTest, CancelStopsTheWork) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(8);
  auto listener = std::make_shared<RecordingListener>();
  const auto ticket = engine->Submit({.text = RandomDocument(random, 3000)}, listener);
  ASSERT_TRUE(ticket.ok()) << ticket.status();
  (*ticket)->Cancel();
  EXPECT_EQ(listener->Wait().status().code(), absl::StatusCode::kCancelled);
  (*ticket)->Cancel();
  EXPECT_TRUE(engine->Translate({.text = "The answer came late."}).ok());
  EXPECT_EQ(listener->times_done(), 1);
  EXPECT_EQ(engine->status().kv_bytes_used, 0);
}

TEST_P(EngineTest, ADeadlineStopsTheWork) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(9);
  const absl::StatusOr<TranslationResult> result =
      engine->Translate({.text = RandomDocument(random, 3000), .deadline = absl::Now() + absl::Milliseconds(30)});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded) << result.status();
}

TEST_P(EngineTest, AFullQueueSaysSo) {
  EngineOptions options = Options();
  options.max_queued_documents = 2;
  HoldingObserver holding;
  const std::unique_ptr<Engine> engine = Make(options, &holding);
  ASSERT_NE(engine, nullptr);
  const absl::Cleanup let_go = [&] { holding.LetGo(); };
  ASSERT_TRUE(engine->Submit({.text = "The train leaves at seven."}, std::make_shared<RecordingListener>()).ok());
  holding.WaitUntilHeld();
  const TranslationRequest request{.text = "The lake freezes in winter."};
  std::vector<std::shared_ptr<RecordingListener>> queued;
  for (int i = 0; i < 2; ++i) {
    queued.push_back(std::make_shared<RecordingListener>());
    ASSERT_TRUE(engine->Submit(request, queued.back()).ok());
  }
  const absl::Status refused = engine->Submit(request, std::make_shared<RecordingListener>()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("queue is full"));
  EXPECT_EQ(engine->status().documents_waiting, 2);
  EXPECT_GT(engine->status().oldest_waiting_seconds, 0);
  holding.LetGo();
  for (const auto& listener : queued) EXPECT_TRUE(listener->Wait().ok()) << listener->Wait().status();
  EXPECT_TRUE(engine->Submit(request, std::make_shared<RecordingListener>()).ok());
}

TEST_P(EngineTest, TheQueueIsBoundedInBytes) {
  EngineOptions options = Options();
  options.max_queued_bytes = 100;
  HoldingObserver holding;
  const std::unique_ptr<Engine> engine = Make(options, &holding);
  ASSERT_NE(engine, nullptr);
  const absl::Cleanup let_go = [&] { holding.LetGo(); };
  ASSERT_TRUE(engine->Submit({.text = "The train leaves at seven."}, std::make_shared<RecordingListener>()).ok());
  holding.WaitUntilHeld();
  std::mt19937 random(19);
  const TranslationRequest large{.text = RandomDocument(random, 10)};
  ASSERT_GT(large.text.size(), 100u);
  const auto first = std::make_shared<RecordingListener>();
  ASSERT_TRUE(engine->Submit(large, first).ok()) << "who finds nobody waiting is taken";
  const absl::Status refused = engine->Submit(large, std::make_shared<RecordingListener>()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("bytes of documents are waiting"));
  holding.LetGo();
  EXPECT_TRUE(first->Wait().ok());
}

// One client has a hundred documents in the queue when another's single one comes.
TEST_P(EngineTest, ABusyClientDoesNotHoldUpAnother) {
  EngineOptions options = Options();
  options.max_rows = 4;
  HoldingObserver holding;
  const std::unique_ptr<Engine> engine = Make(options, &holding);
  ASSERT_NE(engine, nullptr);
  const absl::Cleanup let_go = [&] { holding.LetGo(); };
  std::mt19937 random(20);
  std::vector<TranslationRequest> requests;
  for (int i = 0; i < 100; ++i) requests.push_back({.text = RandomDocument(random, 2), .client = "busy"});
  const auto busy = SubmitAll(*engine, requests);
  holding.WaitUntilHeld();
  const auto other = SubmitAll(*engine, {{.text = RandomDocument(random, 2), .client = "other"}})[0];
  absl::SleepFor(absl::Milliseconds(100));  // until it is cut
  holding.LetGo();
  ASSERT_TRUE(other->Wait().ok()) << other->Wait().status();
  const auto done = std::count_if(busy.begin(), busy.end(), [](const auto& one) { return one->done(); });
  EXPECT_LE(done, 40) << "of those that came before";
  for (const auto& one : busy) EXPECT_TRUE(one->Wait().ok());
}

TEST_P(EngineTest, ATraceTellsPositionsOfTheDocument) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(22);
  TranslationRequest request{.text = RandomDocument(random, 60)};  // several chunks
  request.options.trace = true;
  request.options.selection.policy = SelectionPolicy::kRatio;
  request.options.selection.value = 0.9;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_GT(result->report.chunks, 1);
  const int32_t tokens = result->report.source_tokens + result->report.segments + result->report.chunks;
  int32_t greatest = 0;
  size_t most = 0;
  for (const TranslatedSegment& segment : result->segments) {
    for (const TokenTrace& token : segment.trace) {
      most = std::max(most, token.selected.size());
      EXPECT_TRUE(std::is_sorted(token.selected.begin(), token.selected.end()));
      for (const int32_t position : token.selected) {
        EXPECT_LT(position, tokens);
        greatest = std::max(greatest, position);
      }
    }
  }
  EXPECT_GT(greatest, tokens / 2) << "positions of the chunk would stay below its length";
  EXPECT_EQ(most, static_cast<size_t>(kMaxTracedKeys));
}

TEST_P(EngineTest, WhatCannotFitIsRefusedAtTheDoor) {
  EngineOptions options = Options();
  options.kv_bytes = 1 << 20;
  const std::unique_ptr<Engine> engine = Make(options);
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(11);
  TranslationRequest request{.text = RandomDocument(random, 40)};
  request.options.search.beam = 16;
  request.options.search.max_length_ratio = 20;
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("pages of its source's keys"));
  EXPECT_THAT(result.status().message(), HasSubstr("--kv-memory"));
}

TEST_P(EngineTest, ClosingEndsWhatIsInFlight) {
  std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  std::mt19937 random(12);
  auto listener = std::make_shared<RecordingListener>();
  const auto ticket = engine->Submit({.text = RandomDocument(random, 3000)}, listener);
  ASSERT_TRUE(ticket.ok());
  engine.reset();
  EXPECT_TRUE(listener->done());
  EXPECT_EQ(listener->Wait().status().code(), absl::StatusCode::kCancelled);
  (*ticket)->Cancel();  // a ticket outlives its engine
}

TEST_P(EngineTest, EveryKindOfModelTranslates) {
  for (const std::string variant : {"post", "wide", "borrowed", "shared-decoder", "each-layer", "no-selection",
                                    "no-exits", "by-segment", "plain", "whole-rows"}) {
    SCOPED_TRACE(variant);
    const std::unique_ptr<Engine> engine = Make(Options(variant));
    ASSERT_NE(engine, nullptr);
    const absl::StatusOr<TranslationResult> result =
        engine->Translate({.text = "We walked along the river. In winter the lake freezes."});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->segments.size(), 2u);
    EXPECT_GT(result->report.target_tokens, 0);
  }
}

// Each of the others takes a worker longer to cut than the first takes altogether, and then has too many segments.
TEST(EngineWorkersTest, ARunningTranslationDoesNotWaitUntilOthersAreCut) {
  const absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Create({.model_folder = TinyModel("base"), .device = "cpu"});
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto first = SubmitAll(**engine, {{.text = "The old house stands at the river."}})[0];
  std::string segments;
  while (segments.size() < 2 * kMaxSegments + 2) segments += "a\n";
  const auto others = SubmitAll(**engine, std::vector<TranslationRequest>(12, {.text = segments}));
  ASSERT_TRUE(first->Wait().ok()) << first->Wait().status();
  const auto cut = std::count_if(others.begin(), others.end(), [](const auto& other) { return other->done(); });
  EXPECT_LE(cut, 6);
  for (const auto& other : others) EXPECT_THAT(other->Wait().status().message(), HasSubstr("split the document"));
}

// Holds the worker that tells it of the end.
class HoldingListener : public RecordingListener {
 public:
  void OnDone(absl::StatusOr<TranslationResult> result) override {
    RecordingListener::OnDone(std::move(result));
    let_go_.get_future().wait();
  }
  void LetGo() { let_go_.set_value(); }

 private:
  std::promise<void> let_go_;
};

// An engine whose one worker is held, so that what is submitted stays uncut.
class UncutDocumentsTest : public ::testing::Test {
 protected:
  static constexpr int kMost = 4;  // documents in the queue

  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(
        {.model_folder = TinyModel("base"), .device = "cpu", .max_queued_documents = kMost, .workers = 1});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    ASSERT_TRUE(engine_->Submit({.text = kInvalid}, held_).ok());
    held_->Wait();
  }
  void TearDown() override {
    if (!let_go_) LetGo();
  }
  void LetGo() {
    let_go_ = true;
    held_->LetGo();
  }

  // Until the queue is empty; false if that takes far too long.
  bool Empties() const {
    for (int i = 0; i < 2000 && engine_->status().documents_waiting > 0; ++i) absl::SleepFor(absl::Milliseconds(10));
    return engine_->status().documents_waiting == 0;
  }

  static constexpr char kInvalid[] = "\xff";  // whoever cuts it says so
  const std::shared_ptr<HoldingListener> held_ = std::make_shared<HoldingListener>();
  std::unique_ptr<Engine> engine_;
  bool let_go_ = false;
};

TEST_F(UncutDocumentsTest, WhoIsCancelledLeavesTheQueueAndIsNotCut) {
  std::vector<std::shared_ptr<RecordingListener>> listeners;
  std::vector<std::shared_ptr<TranslationTicket>> tickets;
  for (int i = 0; i < kMost; ++i) {
    listeners.push_back(std::make_shared<RecordingListener>());
    const auto ticket = engine_->Submit({.text = kInvalid}, listeners.back());
    ASSERT_TRUE(ticket.ok()) << ticket.status();
    tickets.push_back(*ticket);
  }
  const TranslationRequest another{.text = "The lake freezes in winter."};
  EXPECT_EQ(engine_->Submit(another, std::make_shared<RecordingListener>()).status().code(),
            absl::StatusCode::kResourceExhausted);
  for (const auto& ticket : tickets) ticket->Cancel();
  EXPECT_TRUE(Empties()) << "cancelled documents keep their places";
  const auto last = SubmitAll(*engine_, {another})[0];
  LetGo();
  EXPECT_TRUE(last->Wait().ok()) << last->Wait().status();
  for (const auto& listener : listeners) {
    EXPECT_EQ(listener->Wait().status().code(), absl::StatusCode::kCancelled) << listener->Wait().status();
  }
  engine_.reset();
  for (const auto& listener : listeners) EXPECT_EQ(listener->times_done(), 1);
}

TEST_F(UncutDocumentsTest, WhoIsLateLeavesTheQueueAndIsNotCut) {
  const auto listener = std::make_shared<RecordingListener>();
  ASSERT_TRUE(engine_->Submit({.text = kInvalid, .deadline = absl::Now() + absl::Milliseconds(50)}, listener).ok());
  EXPECT_TRUE(Empties()) << "a late document keeps its place";
  LetGo();
  EXPECT_EQ(listener->Wait().status().code(), absl::StatusCode::kDeadlineExceeded) << listener->Wait().status();
  engine_.reset();
  EXPECT_EQ(listener->times_done(), 1);
}

std::string SetupName(const ::testing::TestParamInfo<Setup>& setup) {
  static constexpr const char* kCompute[] = {"auto", "f32", "bf16", "int8"};
  return setup.param.device + "_" + kCompute[static_cast<int>(setup.param.compute)] +
         (setup.param.kv_type.has_value() ? "_int8_keys" : "");
}

INSTANTIATE_TEST_SUITE_P(Devices, EngineTest,
                         ::testing::Values(Setup{"reference"}, Setup{"cpu", ComputeType::kF32},
                                           Setup{"cpu", ComputeType::kBF16}, Setup{"cpu", ComputeType::kInt8},
                                           Setup{"cpu", ComputeType::kInt8, ElementType::kInt8}),
                         SetupName);

class BadModelTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::copy(TinyModel("base"), folder_); }

  absl::Status Open() const { return Engine::Create({.model_folder = folder_, .device = "reference"}).status(); }
  std::string Read(const std::string& file) const { return ReadFile(temp_ / file); }
  void Write(const std::string& file, const std::string& bytes) const { WriteFile(temp_ / file, bytes); }
  void Replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = Read(file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    Write(file, text.replace(at, from.size(), to));
  }

  const TempFolder temp_;
  const std::string& folder_ = temp_.path();
};

TEST_F(BadModelTest, TheCopyItselfIsGood) { EXPECT_TRUE(Open().ok()) << Open(); }

TEST_F(BadModelTest, MissingFolder) {
  const absl::Status status = Engine::Create({.model_folder = folder_ + "/none", .device = "reference"}).status();
  EXPECT_THAT(status.message(), HasSubstr("config.json"));
}

TEST_F(BadModelTest, TruncatedTensors) {
  const std::string whole = Read("model.safetensors");
  for (const size_t length : {size_t{0}, size_t{7}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    Write("model.safetensors", whole.substr(0, length));
    const absl::Status status = Open();
    EXPECT_FALSE(status.ok()) << length;
    EXPECT_THAT(status.message(), HasSubstr("model.safetensors")) << length;
  }
}

TEST_F(BadModelTest, AbsurdSizes) {
  Replace("config.json", "\"d_model\": 48", "\"d_model\": 4800000");
  EXPECT_THAT(Open().message(), HasSubstr("d_model"));
}

TEST_F(BadModelTest, SizesThatTheTensorsDoNotHave) {
  Replace("config.json", "\"d_model\": 48", "\"d_model\": 96");
  EXPECT_THAT(Open().message(), HasSubstr("embedding.weight"));
}

TEST_F(BadModelTest, AnotherShortlist) {
  Write("shortlist.safetensors", "not a shortlist");
  EXPECT_THAT(Open().message(), HasSubstr("shortlist.safetensors"));
  std::filesystem::remove(folder_ + "/shortlist.safetensors");
  EXPECT_TRUE(Open().ok()) << Open();
}

TEST_F(BadModelTest, AnotherTokenizer) {
  Write("tokenizer.model", "not a tokenizer");
  EXPECT_THAT(Open().message(), HasSubstr("tokenizer.model"));
}

// Who opens a pipe waits for its writer.
TEST_F(BadModelTest, APipeIsRefused) {
  for (const std::string file : {"config.json", "tokenizer.model", "operating_points.json"}) {
    const std::string bytes = std::filesystem::exists(folder_ + "/" + file) ? Read(file) : R"({"points": []})";
    std::filesystem::remove(folder_ + "/" + file);
    ASSERT_EQ(mkfifo((folder_ + "/" + file).c_str(), 0600), 0);
    EXPECT_THAT(Open().message(), HasSubstr(file + " is no regular file"));
    std::filesystem::remove(folder_ + "/" + file);
    Write(file, bytes);
  }
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  std::filesystem::remove(folder_ + "/README.md");
  std::filesystem::rename(folder_ + "/pipe", folder_ + "/README.md");
  EXPECT_TRUE(Open().ok()) << Open();
}

TEST(DescriptionTest, IsTheFirstParagraphOfACard) {
  EXPECT_EQ(Description("# Name\n\nOne\nparagraph.\n\nAnother."), "One paragraph.");
  EXPECT_EQ(Description("# Name\r\n\r\nOne\r\nparagraph.\r\n\r\nAnother.\r\n"), "One paragraph.");
  EXPECT_EQ(Description("# Name\n"), "");
}

TEST(DescriptionTest, FitsIntoAReply) {
  EXPECT_EQ(Description("Fa\xe7on"), "") << "Latin-1";
  EXPECT_EQ(Description(std::string(4095, 'a') + "\u00e9"), std::string(4095, 'a'));
}

}  // namespace
}  // namespace salient

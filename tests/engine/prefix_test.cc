// What a translation is made to begin with: the prefix of a request, and the token of its language.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::salient::testing::EngineTest;
using ::salient::testing::TinyModel;
using ::testing::HasSubstr;

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

TEST_P(EngineTest, APrefixIsHowTheTranslationBegins) {
  const std::unique_ptr<Engine> engine = Make(Options());
  ASSERT_NE(engine, nullptr);
  TranslationRequest request{.text = "The old house stands at the river. Nobody knew the answer."};
  request.options.search.prefix = "Das alte Haus";
  const absl::StatusOr<TranslationResult> result = engine->Translate(request);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text.rfind("Das alte Haus", 0), 0u) << result->text;
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

}  // namespace
}  // namespace salient

// What a translation takes from its source as it is: markers, and characters that the model does not know.

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/testing/documents.h"
#include "tests/testing/marked_documents.h"

namespace salient {
namespace {

using ::salient::testing::EightSettings;
using ::salient::testing::EngineTest;
using ::salient::testing::Occurrences;
using ::salient::testing::WrongMarkers;
using ::salient::testing::WrongMarkersUnderEverySetting;

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

}  // namespace
}  // namespace salient

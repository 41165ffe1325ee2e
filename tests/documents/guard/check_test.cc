#include "documents/guard/check.h"

#include "gmock/gmock.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A segment that a model is fairly sure of, with a token for each five bytes.
TranslatedSegment Segment(const std::string& source, const std::string& text) {
  TranslatedSegment segment;
  segment.source = source;
  segment.text = text;
  segment.source_tokens = static_cast<int32_t>(source.size() / 5 + 1);
  segment.target_tokens = static_cast<int32_t>(text.size() / 5 + 1);
  segment.score = -0.5 * (segment.target_tokens + 1);
  return segment;
}

std::vector<Fault> FaultsOf(const std::string& source, const std::string& text) {
  return CheckSegment(Segment(source, text)).faults;
}

constexpr char kSource[] = "In 1998 the river rose by 12 metres, and the people of the town had to leave their houses.";
constexpr char kGood[] =
    "1998 stieg der Fluss um 12 Meter, und die Menschen in der Stadt mussten ihre Häuser verlassen.";

TEST(GuardCheckTest, AGoodTranslationHasNoFaults) { EXPECT_THAT(FaultsOf(kSource, kGood), IsEmpty()); }

TEST(GuardCheckTest, EachFault) {
  EXPECT_THAT(FaultsOf(kSource, "1998: 12 m."), ElementsAre(Fault::kTooShort));
  EXPECT_THAT(FaultsOf(kSource, std::string(kGood) + " Und dann gab es noch viel mehr zu sagen, denn niemand wusste, "
                                                     "was am nächsten Tag geschehen sollte, weil alles anders kam."
                                                     " Aber das ist eine andere Geschichte, wie man so sagt."),
              ElementsAre(Fault::kTooLong));
  EXPECT_THAT(FaultsOf(kSource, "1998 stieg der Fluss um 12 Meter, und die Menschen in der Stadt mussten die Menschen "
                                "in der Stadt mussten die Menschen in der Stadt mussten gehen."),
              ElementsAre(Fault::kRepetition));
  EXPECT_THAT(FaultsOf(kSource, "1989 stieg der Fluss um 12 Meter, und die Menschen mussten ihre Häuser verlassen."),
              ElementsAre(Fault::kNumbers));
  EXPECT_THAT(FaultsOf("Call read_file first, and then close it.", "Rufen Sie zuerst Datei auf, dann schließen."),
              ElementsAre(Fault::kNames));
  EXPECT_THAT(FaultsOf(kSource, kSource), ElementsAre(Fault::kUntranslated));
  TranslatedSegment unlikely = Segment(kSource, kGood);
  unlikely.score *= 8;
  EXPECT_THAT(CheckSegment(unlikely).faults, ElementsAre(Fault::kUnlikely));
  TranslatedSegment limited = Segment(kSource, kGood);
  limited.length_limited = true;
  EXPECT_THAT(CheckSegment(limited).faults, ElementsAre(Fault::kTooLong));
  TranslatedSegment uncovered = Segment(kSource, kGood);
  uncovered.alignment = {{0, 36, 0, 4}};  // nothing of what comes after the comma
  EXPECT_THAT(CheckSegment(uncovered).faults, ElementsAre(Fault::kNotCovered));
}

TEST(GuardCheckTest, AnotherLanguageThanTheTargets) {
  const auto faults = [](const std::string& text, std::string_view language) {
    return CheckSegment(Segment(kSource, text), language).faults;
  };
  constexpr char kPortuguese[] =
      "Em 1998 o rio subiu 12 metros, e as pessoas da cidade tiveram de abandonar as suas casas.";
  EXPECT_THAT(faults(kPortuguese, "de"), ElementsAre(Fault::kLanguage));
  EXPECT_THAT(faults(kPortuguese, "pt-BR"), IsEmpty());
  EXPECT_THAT(faults(kPortuguese, "gl"), IsEmpty()) << "these two are confused";
  EXPECT_THAT(faults(kPortuguese, ""), IsEmpty()) << "it is not known which it should be";
  EXPECT_THAT(faults(kGood, "de"), IsEmpty());
  EXPECT_THAT(faults(kSource, "de"), ElementsAre(Fault::kUntranslated, Fault::kLanguage));
  EXPECT_THAT(CheckSegment(Segment("The house is old.", "A casa é velha."), "de").faults, IsEmpty())
      << "too few words to be sure";
}

TEST(GuardCheckTest, ADigitMayBecomeAWordButNoOtherNumber) {
  EXPECT_THAT(FaultsOf("It has 2 doors and a window.", "Es hat zwei Türen und ein Fenster."), IsEmpty());
  EXPECT_THAT(FaultsOf("It has 2 doors and a window.", "Es hat 3 Türen und ein Fenster."), ElementsAre(Fault::kNumbers));
}

TEST(GuardCheckTest, WhatTheSourceRepeatsMayBeRepeated) {
  EXPECT_THAT(FaultsOf("No, no, no, no, no, no, he said.", "Nein, nein, nein, nein, nein, nein, sagte er."), IsEmpty());
}

TEST(GuardCheckTest, FewerOrLesserFaultsAreBetter) {
  const SegmentCheck good{{}, 40}, better{{}, 50}, numbers{{Fault::kNumbers}, 60};
  const SegmentCheck loop{{Fault::kRepetition}, 70}, two{{Fault::kNumbers, Fault::kNames}, 70};
  EXPECT_TRUE(IsBetter(good, numbers));
  EXPECT_TRUE(IsBetter(numbers, loop));
  EXPECT_TRUE(IsBetter(numbers, two));
  EXPECT_TRUE(IsBetter(better, good));
  EXPECT_FALSE(IsBetter(good, better));
  EXPECT_FALSE(IsBetter(good, good));
}

TEST(GuardCheckTest, TheEstimateFallsWithTheSigns) {
  const double good = CheckSegment(Segment(kSource, kGood)).quality;
  EXPECT_GT(good, 0);
  EXPECT_LE(good, 100);
  TranslatedSegment doubtful = Segment(kSource, kGood);
  doubtful.score *= 4;
  EXPECT_LT(CheckSegment(doubtful).quality, good);
}

TEST(GuardCheckTest, EveryFaultHasAName) {
  EXPECT_STREQ(FaultName(Fault::kTooLong), "too_long");
  EXPECT_STREQ(FaultName(Fault::kUnlikely), "unlikely");
  EXPECT_STREQ(FaultName(Fault::kLanguage), "language");
}

}  // namespace
}  // namespace salient

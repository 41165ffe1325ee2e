#include "engine/text/document.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/segment_texts.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SegmentedDocument Split(std::string_view text, const std::string& language = "en",
                        Segmentation segmentation = Segmentation::kSentences) {
  absl::StatusOr<SegmentedDocument> document = SplitDocument(text, segmentation, language);
  EXPECT_TRUE(document.ok()) << document.status();
  return document.ok() ? *document : SegmentedDocument{};
}

std::vector<std::string> SplitTexts(std::string_view text, const std::string& language = "en") {
  return Texts(Split(text, language));
}

void ExpectRoundTrip(const std::string& text) {
  const SegmentedDocument document = Split(text);
  EXPECT_EQ(JoinDocument(document, Texts(document)), text);
}

TEST(DocumentTest, CutsSentences) {
  EXPECT_THAT(SplitTexts("One is here. Two is there!  Is three? \"Four.\" Five"),
              ElementsAre("One is here.", "Two is there!", "Is three?", "\"Four.\"", "Five"));
  ExpectRoundTrip("One is here. Two is there!  Is three? \"Four.\" Five");
}

TEST(DocumentTest, KeepsAbbreviationsWhole) {
  EXPECT_THAT(SplitTexts("Dr. Smith met J. R. Jones, e.g. Today. No. 5 is alive. He said no. Then he left."),
              ElementsAre("Dr. Smith met J. R. Jones, e.g. Today.", "No. 5 is alive.", "He said no.", "Then he left."));
  EXPECT_THAT(SplitTexts("Es gibt z. B. Hunde. Am 3. Oktober kam Prof. Dr. Klein.", "de"),
              ElementsAre("Es gibt z. B. Hunde.", "Am 3. Oktober kam Prof. Dr. Klein."));
}

TEST(DocumentTest, GlueIsWhatStandsBetween) {
  const SegmentedDocument document = Split("\xEF\xBB\xBF  First one.\t Second.\r\n\r\nThird\xC2\xA0\n");
  ASSERT_EQ(document.segments.size(), 3u);
  EXPECT_EQ(document.segments[0].glue, "\xEF\xBB\xBF  ");
  EXPECT_EQ(document.segments[0].text, "First one.");
  EXPECT_EQ(document.segments[1].glue, "\t ");
  EXPECT_EQ(document.segments[2].glue, "\r\n\r\n");
  EXPECT_EQ(document.segments[2].text, "Third");
  EXPECT_EQ(document.tail, "\xC2\xA0\n");
}

TEST(DocumentTest, TabsEndSegments) {
  const std::string table = "No.\tName\tPrice in euros\n1\tRed apple\t2.50\n";
  EXPECT_THAT(SplitTexts(table), ElementsAre("No.", "Name", "Price in euros", "Red apple"));
  const SegmentedDocument document = Split(table);
  EXPECT_EQ(JoinDocument(document, {"Nr.", "Name", "Preis in Euro", "Roter Apfel"}),
            "Nr.\tName\tPreis in Euro\n1\tRoter Apfel\t2.50\n");
  EXPECT_THAT(SplitTexts("  -a, --all\t\tShow all. Hide none."), ElementsAre("-a, --all", "Show all.", "Hide none."));
  // Rows of a table that are about as long as each other are no paragraph, but a tab may come before one.
  EXPECT_THAT(SplitTexts("A row of a table that has some length to it\tand one more column\n"
                         "a row of a table that has some length to it\tand one more column\n"
                         "a row of a table that has some length to it\tand one more column\n")
                  .size(),
              6u);
  EXPECT_THAT(SplitTexts("Name:\tThe name of the file that is going to be read, and of\n"
                         "\tthe one that is going to be written when it was\n"
                         "\tread to its end.\n"),
              ElementsAre("Name:",
                          "The name of the file that is going to be read, and of the one that is going to be "
                          "written when it was read to its end."));
}

TEST(DocumentTest, KnowsWhereParagraphsStart) {
  const SegmentedDocument document = Split("A one. A two.\nB three.\n \t\nC four.\r\n\r\n***\nD five.\r\rE six.");
  std::vector<bool> starts;
  for (const Segment& segment : document.segments) starts.push_back(segment.starts_paragraph);
  EXPECT_THAT(starts, ElementsAre(true, false, false, true, true, true));
}

TEST(DocumentTest, StretchesWithoutLettersAreGlue) {
  const SegmentedDocument document = Split("12.5\n***\nText here. 42. More text.\n---\n");
  ASSERT_EQ(Texts(document), (std::vector<std::string>{"Text here.", "More text."}));
  EXPECT_EQ(document.segments[0].glue, "12.5\n***\n");
  EXPECT_EQ(document.segments[1].glue, " 42. ");
  EXPECT_EQ(document.tail, "\n---\n");
}

TEST(DocumentTest, NothingToTranslate) {
  for (const char* text : {"", " ", "\n\n", "123 456.", "\xEF\xBB\xBF", "- \n* \n", "\u3164 \u115F\u1160\uFFA0"}) {
    const SegmentedDocument document = Split(text);
    EXPECT_THAT(document.segments, IsEmpty()) << text;
    EXPECT_EQ(document.tail, text);
    EXPECT_EQ(JoinDocument(document, {}), text);
  }
}

TEST(DocumentTest, MarkersAtLineStartsAreGlue) {
  const std::string text =
      "# Title\n- first\n  * second one\n1. third\n12) fourth\n(3) fifth\n> quoted\n> > twice\n• dot\n";
  EXPECT_THAT(SplitTexts(text),
              ElementsAre("Title", "first", "second one", "third", "fourth", "fifth", "quoted", "twice", "dot"));
  ExpectRoundTrip(text);
}

TEST(DocumentTest, WhatOnlyLooksLikeAMarkerIsText) {
  EXPECT_THAT(SplitTexts("1.5 million people\n2024 was good\n-5 degrees\n#tag here\n...and so on"),
              ElementsAre("1.5 million people", "2024 was good", "-5 degrees", "#tag here", "...and so on"));
}

constexpr char kWrapped[] =
    "It was the best of times, it was the worst of times, it was the age of\n"
    "wisdom, it was the age of foolishness. It was the epoch of belief, it\r\n"
    "  was the epoch of incredulity, said Dr.\n"
    "Manette.";

TEST(DocumentTest, WrappedParagraphsFlow) {
  EXPECT_THAT(SplitTexts("It was the best of times, it was the worst of times, it was the age of\n"
                         "wisdom, it was the age of foolishness. It was the epoch of belief, it\r\n"
                         "  was the season of Light, it was the season of Darkness, it was also\n"
                         "the spring of hope."),
              ElementsAre("It was the best of times, it was the worst of times, it was the age of wisdom, it was the "
                          "age of foolishness.",
                          "It was the epoch of belief, it was the season of Light, it was the season of Darkness, it "
                          "was also the spring of hope."));
}

TEST(DocumentTest, ALineThatHadRoomForMoreEndsASegment) {
  EXPECT_THAT(SplitTexts(kWrapped),
              ElementsAre("It was the best of times, it was the worst of times, it was the age of",
                          "wisdom, it was the age of foolishness.", "It was the epoch of belief, it",
                          "was the epoch of incredulity, said Dr.", "Manette."));
}

TEST(DocumentTest, ASentenceEndAtALineEndKeepsItsBreak) {
  const SegmentedDocument document = Split(
      "This line is long enough to have been wrapped by some editor somewhere.\n"
      "Another sentence begins here and goes on to the next line because the\n"
      "line was full.");
  ASSERT_EQ(document.segments.size(), 2u);
  EXPECT_EQ(document.segments[1].glue, "\n");
  EXPECT_EQ(document.segments[1].text,
            "Another sentence begins here and goes on to the next line because the line was full.");
}

TEST(DocumentTest, AListItemMayBeWrapped) {
  EXPECT_THAT(SplitTexts("- this is an item of a list that is so long that it had to\n"
                         "  go on in the next line\n"
                         "- and this is a short one"),
              ElementsAre("this is an item of a list that is so long that it had to go on in the next line",
                          "and this is a short one"));
}

TEST(DocumentTest, VerseAndHeadingsKeepTheirLines) {
  EXPECT_THAT(SplitTexts("Roses are red\nViolets are blue\nSugar is sweet"),
              ElementsAre("Roses are red", "Violets are blue", "Sugar is sweet"));
  EXPECT_THAT(SplitTexts("Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\n"
                         "Rough winds do shake the darling buds of May,\nAnd summer's lease hath all too short a date"),
              ElementsAre("Shall I compare thee to a summer's day?",
                          "Thou art more lovely and more temperate:", "Rough winds do shake the darling buds of May,",
                          "And summer's lease hath all too short a date"));
  EXPECT_THAT(SplitTexts("A Long Heading of the Document, of Fifty Characters\nAnd a Subtitle"),
              ElementsAre("A Long Heading of the Document, of Fifty Characters", "And a Subtitle"));
}

TEST(DocumentTest, TwoLinesAreWrappedWhereLongerParagraphsAre) {
  const std::string two = "A sentence of two lines that speaks about nothing else than about Mr.\nSmith.";
  EXPECT_EQ(SplitTexts(two).size(), 2u) << "or a heading and a name";
  const std::string longer =
      "It was the best of times, it was the worst of times, it was the age of\n"
      "wisdom, it was the age of foolishness, it was the epoch of all belief\n"
      "and more.\n\n";
  EXPECT_THAT(
      SplitTexts(longer + two),
      ElementsAre(::testing::_, "A sentence of two lines that speaks about nothing else than about Mr. Smith."));
  EXPECT_EQ(SplitTexts(longer + "A Heading That Has Some Fifty Characters or So It Is\nSubtitle").size(), 3u);
}

TEST(DocumentTest, CentredLinesKeepTheirBreaks) {
  const std::string indent(40, ' ');
  EXPECT_THAT(SplitTexts(indent + "The Licence\n" + indent + "version two\n" + indent + "of that year"),
              ElementsAre("The Licence", "version two", "of that year"));
}

TEST(DocumentTest, AHeadingMayStandOnAWrappedParagraph) {
  EXPECT_THAT(SplitTexts("Chapter One\n"
                         "It was the best of times, it was the worst of times, it was the age of\n"
                         "wisdom, it was the age of foolishness, it was the epoch of all belief\n"
                         "and more."),
              ElementsAre("Chapter One",
                          "It was the best of times, it was the worst of times, it was the age of wisdom, it was the "
                          "age of foolishness, it was the epoch of all belief and more."));
}

TEST(DocumentTest, ParagraphsOfOneLongLineKeepTheirBreaks) {
  const std::string paragraph = "word" + std::string(200, ' ') + "and then some more of these words without an end";
  EXPECT_THAT(SplitTexts(paragraph + "\n" + paragraph), ElementsAre(paragraph, paragraph));
}

TEST(DocumentTest, ChineseLinesAreNotJoinedWithSpaces) {
  std::string line;
  for (int i = 0; i < 50; ++i) line += "学";
  EXPECT_THAT(SplitTexts(line + "\n" + line + "\n" + line, "zh"), ElementsAre(line, line, line));
  EXPECT_THAT(SplitTexts("你好。再见。", "zh"), ElementsAre("你好。", "再见。"));
}

TEST(DocumentTest, LinesModeTakesLinesAsTheyAre) {
  const SegmentedDocument document =
      Split("One. Two.\n\n- item\n 12 \nlast line that is long enough to be wrapped, surely\nand on", "en",
            Segmentation::kLines);
  EXPECT_THAT(Texts(document),
              ElementsAre("One. Two.", "- item", "last line that is long enough to be wrapped, surely", "and on"));
  EXPECT_TRUE(document.segments[1].starts_paragraph);
  EXPECT_FALSE(document.segments[3].starts_paragraph);
}

TEST(DocumentTest, EveryKindOfLineBreakEndsALine) {
  for (const char* line_break : {"\n", "\r\n", "\r", "\v", "\f", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    const std::string text = std::string("one") + line_break + "two" + line_break;
    for (const Segmentation segmentation : {Segmentation::kSentences, Segmentation::kLines}) {
      const SegmentedDocument document = Split(text, "en", segmentation);
      EXPECT_THAT(Texts(document), ElementsAre("one", "two"));
      EXPECT_EQ(document.tail, line_break);
      EXPECT_FALSE(document.segments[1].starts_paragraph) << "one break is no empty line";
    }
  }
}

TEST(DocumentTest, AVeryLongLineIsOneSegment) {
  const std::string text(1 << 20, 'x');
  EXPECT_THAT(SplitTexts(text), ElementsAre(text));
}

TEST(DocumentTest, RefusesWhatIsNoText) {
  const auto message = [](std::string_view text) {
    const auto document = SplitDocument(text, Segmentation::kSentences, "en");
    EXPECT_EQ(document.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(document.status().message());
  };
  EXPECT_THAT(message(std::string_view("ab\0cd", 5)), HasSubstr("byte 2 is NUL"));
  EXPECT_THAT(message("abc\xff"), HasSubstr("byte 3"));
}

TEST(DocumentTest, AnUnknownLanguageIsCutByTheGeneralRules) {
  for (const char* language : {"", "zz", "not a language", "en_US@x=y", "x-private"}) {
    EXPECT_THAT(SplitTexts("One here. Two there.", language), ElementsAre("One here.", "Two there.")) << language;
  }
}

// A thread keeps the rules of its last language.
TEST(DocumentTest, EachCallCutsByTheRulesOfItsLanguage) {
  const auto cut_in_turns = [] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_THAT(SplitTexts("Siehe Abb. Drei.", "de"), ElementsAre("Siehe Abb. Drei."));
      EXPECT_THAT(SplitTexts("Siehe Abb. Drei.", "en"), ElementsAre("Siehe Abb.", "Drei."));
      EXPECT_THAT(SplitTexts("Τι κάνεις; Καλά.", "el"), ElementsAre("Τι κάνεις;", "Καλά."));
      EXPECT_THAT(SplitTexts("Τι κάνεις; Καλά.", "en"), ElementsAre("Τι κάνεις; Καλά."));
      EXPECT_THAT(SplitTexts("One. Two.", "en"), ElementsAre("One.", "Two.")) << "the text before it is gone";
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(cut_in_turns);
  cut_in_turns();
  for (std::thread& thread : threads) thread.join();
}

TEST(DocumentTest, JoinPutsTranslationsInPlace) {
  const SegmentedDocument document = Split("- One. Two.\n\n3.\n");
  EXPECT_EQ(JoinDocument(document, {"Eins.", "Zwei."}), "- Eins. Zwei.\n\n3.\n");
}

TEST(DocumentTest, SegmentsAreBounded) {
  std::string lines;
  for (size_t i = 0; i < kMaxSegments; ++i) lines += "a\n";
  EXPECT_TRUE(SplitDocument(lines, Segmentation::kLines, "en").ok());
  for (const Segmentation segmentation : {Segmentation::kLines, Segmentation::kSentences}) {
    const auto document = SplitDocument(lines + "b\n", segmentation, "en");
    EXPECT_EQ(document.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(document.status().message()), ::testing::HasSubstr("segments; split the document"));
  }
}

TEST(DocumentTest, SentencesThatNeedNoSpaceGetOneWhereTheTranslationDoes) {
  const SegmentedDocument document = *SplitDocument("他说：“走吧。”我们走了。\n好。", Segmentation::kSentences, "zh");
  ASSERT_EQ(document.segments.size(), 3U);
  EXPECT_EQ(JoinDocument(document, Texts(document)), "他说：“走吧。”我们走了。\n好。");
  EXPECT_EQ(JoinDocument(document, {"He said, \"Go.\"", "We went.", "Good."}), "He said, \"Go.\" We went.\nGood.");
  EXPECT_EQ(JoinDocument(document, {"彼は「行け」と言った。", "行った。", "良い。"}),
            "彼は「行け」と言った。行った。\n良い。");
}

}  // namespace
}  // namespace salient

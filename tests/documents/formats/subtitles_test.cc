#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "documents/segments/segments.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSrt[] =
    "1\n00:00:01,000 --> 00:00:02,000\n<i>Good morning,</i>\nall of you.\n\n"
    "2\n00:00:03,000 --> 00:00:04,000\nWhat I wanted\n\n"
    "3\n00:00:05,000 --> 00:00:06,000\nto say is this.\n\n"
    "4\n00:00:07,000 --> 00:00:08,000\n- Really?\n- Yes.\n";

TEST(SubRipTest, CuesAreJoinedToSentences) {
  const auto document = ParseAs("srt", kSrt);
  EXPECT_THAT(Shown(*document), ElementsAre("⟦<i>⟧Good morning,⟦</i>⟧ all of you.",
                                            "What I wanted⟦\n\n3\n00:00:05,000 --> 00:00:06,000\n⟧to say is this.",
                                            "- Really?⟦\n⟧- Yes."));
  ExpectIdentity("srt", kSrt);
  ExpectTranslationIsRead("srt", kSrt);
}

TEST(SubRipTest, LongTranslationsAreBrokenEvenly) {
  const std::string srt = "1\r\n00:00:01,000 --> 00:00:02,000\r\nShort text.\r\n\r\n";
  EXPECT_EQ(
      RenderWith(*ParseAs("srt", srt), {{"Short text.", "Ein viel längerer Text, der nicht in eine Zeile passt."}}),
      "1\r\n00:00:01,000 --> 00:00:02,000\r\nEin viel längerer Text, der\r\nnicht in eine Zeile passt.\r\n\r\n");
}

// Lines of words, each as full as can be.
size_t GreedyLines(const std::vector<std::string>& words, size_t width) {
  size_t lines = 0, used = 0;
  for (const std::string& word : words) {
    const bool fits = lines > 0 && used + 1 + word.size() <= width;
    used = fits ? used + 1 + word.size() : word.size();
    lines += fits ? 0 : 1;
  }
  return lines;
}

TEST(SubRipTest, LinesAreAsFewAndAsEvenAsCanBe) {
  const std::string times = "1\n00:00:01,000 --> 00:00:02,000\n";
  const auto document = ParseAs("srt", times + "Short.");
  uint32_t random = 1;
  for (int round = 0; round < 100; ++round) {
    std::string text;
    std::vector<std::string> words;
    for (int i = 0; i <= round % 30; ++i) {
      random = random * 1664525 + 1013904223;
      words.emplace_back(1 + (random >> 16) % (round % 10 == 9 ? 60 : 12), 'x');
      text += (i == 0 ? "" : " ") + words.back();
    }
    size_t narrowest = 42;
    const size_t fewest = GreedyLines(words, narrowest);
    while (fewest > 1 && narrowest > 2 && GreedyLines(words, narrowest - 1) == fewest) --narrowest;
    std::string expected = times;
    size_t used = 0;
    for (const std::string& word : words) {
      const bool fits = used > 0 && used + 1 + word.size() <= narrowest;
      if (used > 0) expected += fits ? ' ' : '\n';
      expected += word;
      used = fits ? used + 1 + word.size() : word.size();
    }
    EXPECT_EQ(*document->Render({{text}}), expected);
  }
}

TEST(SubRipTest, VeryLongLinesAreBalanced) {
  std::string line;
  for (int i = 0; i < 8000; ++i) line += std::string(400, 'a') + " ";
  const std::string times = "1\n00:00:01,000 --> 00:00:02,000\n";
  const std::string rendered = RenderRot13(*ParseAs("srt", times + line + "\nb"));
  EXPECT_EQ(rendered.size(), times.size() + line.size() + 1);
  EXPECT_EQ(rendered.rfind('\n'), times.size() + line.size() / 2 - 1) << "in the middle";
}

TEST(SubRipTest, ATagStaysOnOneLine) {
  const std::string times = "1\n00:00:01,000 --> 00:00:02,000\n";
  const std::string tag = "<font color=\"#ffff00\" face=\"Arial\" size=\"20\">";
  const auto document = ParseAs("srt", times + "We " + tag + "laugh</font> a lot.");
  EXPECT_EQ(*document->Render({{"Nous avons rire", {{11, 0}, {15, 1}}}}), times + "Nous avons " + tag + "rire</font>");
  EXPECT_EQ(*document->Render({{"Nous avons beaucoup de rire et encore plus de joie", {{23, 0}, {27, 1}}}}),
            times + "Nous avons beaucoup de " + tag + "rire</font>\net encore plus de joie");
  const auto heart = ParseAs("srt", times + "I <3 you.");
  EXPECT_EQ(RenderWith(*heart, {{"I <3 you.", "Ich <3 dich und dich und dich und dich und dich."}}),
            times + "Ich <3 dich und dich und\ndich und dich und dich.");
}

TEST(SubRipTest, ASentenceIsDividedAmongItsCues) {
  const auto document = ParseAs("srt", kSrt);
  const auto segments = UnitSegments::Create(document->units(), {.source_language = "en"});
  ASSERT_TRUE(segments.ok());
  std::vector<std::string> translations;
  for (const std::string& text : segments->texts()) {
    translations.push_back(text == "What I wanted to say is this." ? "Was ich sagen wollte, ist das." : text);
  }
  const auto rendered = document->Render(segments->Join(translations));
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  EXPECT_THAT(*rendered, HasSubstr("2\n00:00:03,000 --> 00:00:04,000\nWas ich\n\n3\n00:00:05,000 --> "
                                   "00:00:06,000\nsagen wollte, ist das.\n\n4\n"));
}

TEST(SubRipTest, WhiteSpaceBetweenCuesSeparatesThem) {
  for (const std::string separator : {" \n", "\t \n", " \n\n", "\n \n", " \n \n", ""}) {
    const std::string srt = absl::StrCat("1\n00:00:01,000 --> 00:00:02,500\nHello, my friend.\n", separator,
                                         "2\n00:00:03,000 --> 00:00:04,500\nGood night, everyone.\n", separator,
                                         "00:00:05,000 --> 00:00:06,000\n", separator,
                                         "4\n00:00:07,000 --> 00:00:08,000\n1984\nwas a year.\n");
    EXPECT_THAT(Shown(*ParseAs("srt", srt)),
                ElementsAre("Hello, my friend.", "Good night, everyone.", "1984 was a year."))
        << '"' << separator << '"';
    ExpectIdentity("srt", srt);
    ExpectTranslationIsRead("srt", srt);
  }
  ExpectIdentity("srt",
                 "1\r\n00:00:01,000 --> 00:00:02,500\r\nHello.\r\n \r\n2\r\n00:00:03,000 --> 00:00:04,500\r\nBye.");
}

TEST(SubRipTest, TheTextOfACueMayHaveBlankLinesAndArrows) {
  const std::string srt = "1\n00:00:01,000 --> 00:00:02,500\n \nPress A --> 3 times.\n \nThe end.\n";
  EXPECT_THAT(Shown(*ParseAs("srt", srt)), ElementsAre("Press A --> 3 times. The end."));
  ExpectIdentity("srt", srt);
  ExpectTranslationIsRead("srt", srt);
}

TEST(SubRipTest, TheTextOfACueMayHaveEmptyLines) {
  for (const std::string line_break : {"\n", "\r\n"}) {
    const std::string srt = absl::StrReplaceAll(
        "1\n00:00:01,000 --> 00:00:02,500\nFirst.\n\n1984\nSecond.\n\n\n2\n00:00:03,000 --> 00:00:04,500\n\nI "
        "wanted\n\n"
        "to go.\n\n\n3\n00:00:05,000 --> 00:00:06,500\nThird.\n",
        {{"\n", line_break}});
    const std::string marker = absl::StrCat("⟦", line_break, line_break, "⟧");
    EXPECT_THAT(Shown(*ParseAs("srt", srt)),
                ElementsAre("First.", "1984 Second.", absl::StrCat("I wanted", marker, "to go."), "Third."));
    ExpectIdentity("srt", srt);
    ExpectTranslationIsRead("srt", srt);
    EXPECT_EQ(RenderWith(*ParseAs("srt", srt), {{"1984 Second.", "1984 Zweiter."}, {"Third.", "Dritter."}}),
              absl::StrReplaceAll(srt, {{absl::StrCat(line_break, "Second"), " Zweiter"}, {"Third", "Dritter"}}));
  }
}

TEST(SubRipTest, EachSpeakerHasSegmentsOfTheirOwn) {
  const std::string srt =
      "1\n00:00:01,000 --> 00:00:02,000\n- Where are you\ngoing?\n- I am going home\n\n"
      "2\n00:00:03,000 --> 00:00:04,000\nto my family.\n\n";
  const auto document = ParseAs("srt", srt);
  EXPECT_THAT(SegmentTexts(*document), ElementsAre("Where are you going?", "I am going home to my family."));
  const auto segments = UnitSegments::Create(document->units(), {.source_language = "en"});
  EXPECT_EQ(*document->Render(segments->Join({"Wohin?", "Ich gehe jetzt heim zu meiner Familie."})),
            "1\n00:00:01,000 --> 00:00:02,000\n- Wohin?\n- Ich gehe jetzt\n\n"
            "2\n00:00:03,000 --> 00:00:04,000\nheim zu meiner Familie.\n\n");
}

TEST(SubRipTest, ALineOfAnotherSpeakerStaysOne) {
  const struct {
    const char *lines, *translated;
  } cases[] = {
      {"<i>- Where is it?</i>\n<i>- Right here.</i>", "<i>- Wo?</i>\n<i>- Hier.</i>"},
      {"{\\an8}- Where is it?\n{\\an8}- Right here.", "{\\an8}- Wo?\n{\\an8}- Hier."},
      {"<font color=\"#fff\">- Where is it?</font>\n- Right here.", "<font color=\"#fff\">- Wo?</font>\n- Hier."},
      {"– Where is it?\n— Right here.", "– Wo?\n— Hier."},
      {">> Where is it?\n>>> Right here.", ">> Wo?\n>>> Hier."},
      {"♪ Where is it? ♪\n♪ Right here. ♪", "♪ Wo? ♪\n♪ Hier. ♪"},
      {"<i>♪ Where is it?</i>\n<i>♫ Right here. ♫</i>", "<i>♪ Wo?</i>\n<i>♫ Hier. ♫</i>"},
  };
  const std::string times = "1\n00:00:01,000 --> 00:00:02,000\n";
  for (const auto& one : cases) {
    const auto document = ParseAs("srt", times + one.lines);
    ExpectIdentity("srt", times + one.lines);
    ExpectTranslationIsRead("srt", times + one.lines);
    EXPECT_THAT(SegmentTexts(*document), ElementsAre("Where is it?", "Right here.")) << one.lines;
    EXPECT_EQ(*document->Render(Segments(*document).Join({"Wo?", "Hier."})), times + one.translated);
  }
  EXPECT_THAT(SegmentTexts(*ParseAs("srt", times + "JOHN: Where is it?\nÉMILE 2: Right here.")),
              ElementsAre("JOHN: Where is it?", "ÉMILE 2: Right here."));
  EXPECT_THAT(SegmentTexts(*ParseAs("srt", times + "[Man] Where is it?\n[Woman] Right here.")),
              ElementsAre("[Man] Where is it?", "[Woman] Right here."));
  EXPECT_THAT(SegmentTexts(*ParseAs("srt", times + "We meet\nAT 10:30 or later\n(or: never\n[at all.")),
              ElementsAre("We meet AT 10:30 or later (or: never [at all."));
  const std::string vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\n&gt;&gt; Where is it?\n&gt;&gt; Right &gt;&gt; here.\n";
  const auto document = ParseAs("vtt", vtt);
  EXPECT_THAT(SegmentTexts(*document), ElementsAre("Where is it?", "Right >> here."));
  ExpectIdentity("vtt", vtt);
  ExpectTranslationIsRead("vtt", vtt);
}

TEST(SubRipTest, ATranslationHasNoEmptyLine) {
  const std::string times = "1\n00:00:01,000 --> 00:00:02,000\n";
  EXPECT_EQ(*ParseAs("srt", times + "- Really?\n- Yes.\n")->Render({{"- Wirklich? - Ja.", {{0, 0}}}}),
            times + "- Wirklich? - Ja.\n");
}

TEST(SubRipTest, RefusesByLine) { EXPECT_THAT(RefusalAs("srt", "1\nno times here\n"), HasSubstr("SubRip: line 1")); }

TEST(WebVttTest, UnknownReferencesStay) {
  const std::string vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\n&check; Done &copy now\n";
  const auto document = ParseAs("vtt", vtt);
  EXPECT_THAT(Shown(*document), ElementsAre("⟦&check;⟧ Done \u00a9 now"));
  EXPECT_THAT(RenderRot13(*document), HasSubstr("\n&check; Qbar \u00a9 abj\n"));
}

TEST(WebVttTest, AnArrowInATranslationDoesNotEndItsCue) {
  const std::string vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\nPress A --&gt; 3 times.\n";
  ExpectIdentity("vtt", vtt);
  ExpectTranslationIsRead("vtt", vtt);
  EXPECT_EQ(RenderWith(*ParseAs("vtt", vtt), {{"Press A --> 3 times.", "A --> 3 & <c>"}}),
            "WEBVTT\n\n00:01.000 --> 00:02.000\nA --&gt; 3 &amp; &lt;c&gt;\n");
}

TEST(WebVttTest, OnlyCuesAreText) {
  const std::string vtt =
      "WEBVTT Kind: captions\n\nNOTE not this\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.000 "
      "align:start\n<v Bob>Fish &amp; chips <c.loud>now</c>\n\n00:03.000 --> 00:04.000\nEnd.\n";
  const auto document = ParseAs("vtt", vtt);
  EXPECT_THAT(Shown(*document), ElementsAre("Fish & chips ⟦<c.loud>⟧now⟦</c>⟧", "End."));
  ExpectIdentity("vtt", vtt);
  EXPECT_THAT(RefusalAs("vtt", "1\n"), HasSubstr("must begin with WEBVTT"));
}

}  // namespace
}  // namespace salient

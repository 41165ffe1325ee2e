#include "documents/segments.h"

#include "engine/text/document.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;

UnitSegments Segments(const FormattedDocument& document) {
  auto segments = UnitSegments::Create(document.units(), {.source_language = "en"});
  EXPECT_TRUE(segments.ok()) << segments.status();
  return *std::move(segments);
}

TEST(UnitSegmentsTest, UnitsAreCutIntoSentences) {
  const auto document =
      ParseAs("html", "<h1>Title</h1><p>First <b>one</b>. Second <code>x</code> one!<td>12<p>Run<br>away");
  const UnitSegments segments = Segments(*document);
  EXPECT_THAT(segments.texts(), ElementsAre("Title", "First one.", "Second one!", "Run away"));
  EXPECT_EQ(segments.lines(), "Title\n\nFirst one.\nSecond one!\n\nRun away\n");
}

TEST(UnitSegmentsTest, LinesAreTheSameSegmentsToTheEngine) {
  const auto document = ParseAs("markdown", "# A - b\n\n- 1. item. Two.\n\n*x* > y\n\nFor {n} of `m`. Ok.\n");
  const UnitSegments segments = Segments(*document);
  const auto cut = SplitDocument(segments.lines(), Segmentation::kLines, "en");
  ASSERT_TRUE(cut.ok());
  std::vector<std::string> texts;
  for (const Segment& segment : cut->segments) texts.push_back(segment.text);
  EXPECT_EQ(texts, segments.texts());
}

TEST(UnitSegmentsTest, TheSameSentencesGiveTheSameUnits) {
  const auto document = ParseAs("yaml",
                                "a: |\n  It was the best of times, it was the worst of times, it was\n  the age "
                                "of wisdom.  Yes.\n\n  - {item} one\nb: \"x <b>y</b> z.  Next.\"\n");
  const UnitSegments segments = Segments(*document);
  EXPECT_EQ(segments.Join(segments.texts()), Sources(*document));
}

TEST(UnitSegmentsTest, MarkersFollowTheirWords) {
  const auto document = ParseAs("html", "<p>Press <b>Enter</b> now. Then <i>wait</i>.</p>");
  const UnitSegments segments = Segments(*document);
  ASSERT_EQ(segments.texts().size(), 2u);
  std::vector<Alignment> alignments(2);
  alignments[0] = {
      WordsOf("Press Enter now."), WordsOf("Jetzt Enter drücken."), {{{2, 1.f}}, {{1, 1.f}}, {{0, 1.f}}, {{3, 1.f}}}};
  const auto rendered = document->Render(segments.Join({"Jetzt Enter drücken.", "Dann warten."}, alignments));
  EXPECT_EQ(*rendered, "<p>Jetzt <b>Enter</b> drücken. Dann <i>warten</i>.</p>");
}

TEST(UnitSegmentsTest, UnchangedSentencesKeepTheirMarkers) {
  const auto document = ParseAs("html", "<p>See <code>a</code> or <code>b</code> there. Go <b>now</b>.</p>");
  const UnitSegments segments = Segments(*document);
  const auto rendered = document->Render(segments.Join({segments.texts()[0], "Geh jetzt."}));
  EXPECT_EQ(*rendered, "<p>See <code>a</code> or <code>b</code> there. Geh <b>jetzt</b>.</p>");
}

}  // namespace
}  // namespace salient

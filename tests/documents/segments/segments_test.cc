#include "documents/segments/segments.h"

#include "engine/text/document.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UnitSegmentsTest, UnitsAreCutIntoSentences) {
  const auto document =
      ParseAs("html", "<h1>Title</h1><p>First <b>one</b>. Second <code>x</code> one!<td>12<p>Run<br>away");
  const UnitSegments segments = Segments(*document);
  EXPECT_THAT(segments.texts(), ElementsAre("Title", "First one.", "Second one!", "Run", "away"));
  EXPECT_EQ(segments.lines(), "Title\n\nFirst one.\nSecond one!\n\nRun\naway\n");
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

// The document with the translations of its segments, in order.
std::string Rendered(const FormattedDocument& document, const std::vector<std::string>& translations) {
  const UnitSegments segments = Segments(document);
  EXPECT_EQ(segments.texts().size(), translations.size());
  const auto rendered = document.Render(segments.Join(translations));
  EXPECT_TRUE(rendered.ok()) << rendered.status();
  return rendered.value_or("");
}

TEST(UnitSegmentsTest, LineBreaksEndSegmentsAndStayBetweenThem) {
  const auto document =
      ParseAs("html", "<p>Good morning!<br>Welcome to the hotel.<br> <br>We hope so. 12<br>Really</p>");
  const UnitSegments segments = Segments(*document);
  EXPECT_THAT(segments.texts(), ElementsAre("Good morning!", "Welcome to the hotel.", "We hope so.", "Really"));
  EXPECT_EQ(segments.lines(), "Good morning!\nWelcome to the hotel.\n\nWe hope so.\nReally\n");
  EXPECT_EQ(Rendered(*document, {"Ja!", "Guten Morgen und willkommen im Hotel.", "Wir", "Wirklich"}),
            "<p>Ja!<br>Guten Morgen und willkommen im Hotel.<br> <br>Wir 12<br>Wirklich</p>");
}

TEST(UnitSegmentsTest, APairThatIsOpenAcrossABreakReachesToIt) {
  const auto document =
      ParseAs("html", "<p>Only <b>this text<br>and <i>that</i> one<br>there</b> or <u>here<br>now</u></p>");
  EXPECT_THAT(Segments(*document).texts(), ElementsAre("Only this text", "and that one", "there or here", "now"));
  EXPECT_EQ(Rendered(*document, {"Nur dieser Text", "und jener eine", "dort oder hier", "jetzt"}),
            "<p>Nur <b>dieser Text<br>und <i>jener</i> eine<br>dort</b> oder <u>hier<br>jetzt</u></p>");
}

TEST(UnitSegmentsTest, PairsAcrossBreaksNestInAnyOrderOfWords) {
  const auto document = ParseAs("html", "<p>a<b>b<br>one</b> or <u>two<br>c</u></p>");
  const UnitSegments segments = Segments(*document);
  ASSERT_THAT(segments.texts(), ElementsAre("ab", "one or two", "c"));
  std::vector<Alignment> alignments(3);
  alignments[1] = {WordsOf("one or two"), WordsOf("zwei oder eins"), {{{2, 1.f}}, {{1, 1.f}}, {{0, 1.f}}}};
  const std::vector<MarkedText> joined = segments.Join({"x", "zwei oder eins", "y"}, alignments);
  EXPECT_TRUE(CheckMarkers(document->units()[0].markers, joined[0]).ok());
  EXPECT_EQ(joined[0].text, "xzwei oder einsy");
  EXPECT_EQ(joined[0].places[1], (MarkerPlace{1, 1})) << "the first line break";
  EXPECT_EQ(joined[0].places[4], (MarkerPlace{15, 4})) << "the second one";
}

TEST(UnitSegmentsTest, SpelledMarkersLeaveBreaksOut) {
  const auto document = ParseAs("html", "<p>See <b>it</b><br><i>Go</i> there <br>now</p>");
  const auto segments = UnitSegments::Create(document->units(), {.source_language = "en", .markers = 16});
  ASSERT_TRUE(segments.ok());
  EXPECT_THAT(segments->texts(), ElementsAre("See ⟦0⟧it⟦1⟧", "⟦0⟧Go⟦1⟧ there", "now"));
  const auto rendered = document->Render(segments->Join({"⟦0⟧Es⟦1⟧ sehen", "Dorthin ⟦0⟧gehen⟦1⟧", "jetzt"}));
  EXPECT_EQ(*rendered, "<p><b>Es</b> sehen<br>Dorthin <i>gehen</i> <br>jetzt</p>");
}

TEST(UnitSegmentsTest, TagsOfLineBreaksInStringsEndSegments) {
  EXPECT_THAT(Segments(*ParseAs("json", "{\"a\": \"Your order<br/>Total of it\"}")).texts(),
              ElementsAre("Your order", "Total of it"));
  EXPECT_THAT(Segments(*ParseAs("xml", "<a>Your order<br/>Total of it</a>")).texts(),
              ElementsAre("Your order", "Total of it"));
}

TEST(UnitSegmentsTest, ASentenceMayBeginWithAMarkerForAWord) {
  const auto markdown =
      ParseAs("markdown", "Please save the file. `config.yaml` must not be empty. See `x` or `y`. Then go.");
  EXPECT_THAT(Segments(*markdown).texts(),
              ElementsAre("Please save the file.", "must not be empty.", "See or.", "Then go."));
  EXPECT_EQ(
      Rendered(*markdown, {"Speichern Sie jetzt die ganze Datei.", "darf nicht leer sein.", "Siehe oder.", "Geh."}),
      "Speichern Sie jetzt die ganze Datei. `config.yaml` darf nicht leer sein. Siehe `x` oder `y`. Geh.");
  EXPECT_THAT(Segments(*ParseAs("json", "{\"a\": \"Open the page. {name} is the owner of it.\"}")).texts(),
              ElementsAre("Open the page.", "is the owner of it."));
  EXPECT_THAT(Segments(*ParseAs("html", "<p>It runs. <span translate=no>Salient Server</span> is fast.")).texts(),
              ElementsAre("It runs.", "is fast."));
}

TEST(UnitSegmentsTest, NoSpaceIsBeforeThePunctuationAfterAMarker) {
  const auto markdown = ParseAs("markdown", "Press `Enter`, then **`x`**! Open `a` (of `b`). It is `c`.txt or `d`");
  EXPECT_THAT(Segments(*markdown).texts(), ElementsAre("Press, then!", "Open (of).", "It is .txt or"));
  EXPECT_EQ(Rendered(*markdown, {"Drücken, dann!", "Öffne (von).", "Es ist .txt oder"}),
            "Drücken `Enter`, dann **`x`**! Öffne `a` (von `b`). Es ist `c`.txt oder `d`");
  const auto json = ParseAs("json", "{\"a\": \"Are you sure you want to delete {name}?\"}");
  EXPECT_THAT(Segments(*json).texts(), ElementsAre("Are you sure you want to delete?"));
  EXPECT_EQ(Rendered(*json, {"Sind Sie sicher, dass Sie löschen möchten?"}),
            "{\"a\": \"Sind Sie sicher, dass Sie löschen möchten {name}?\"}");
}

TEST(UnitSegmentsTest, AnIconIsAMarkerThatDividesNoWord) {
  const auto html = ParseAs("html", "<p>Click <i class=fa></i> to save it <b></b>. Bro<a id=x></a>ken</p>");
  EXPECT_THAT(Segments(*html).texts(), ElementsAre("Click to save it.", "Broken"));
  EXPECT_EQ(Rendered(*html, {"Klicken um es zu sichern.", "Kaputt"}),
            "<p>Klicken <i class=fa></i> um es zu sichern <b></b>.<a id=x></a> Kaputt</p>");
}

TEST(UnitSegmentsTest, ASentenceOfMarkersAloneIsNoSegment) {
  const auto document = ParseAs("markdown", "It is done. `x`. Read the next one.");
  EXPECT_EQ(Rendered(*document, {"Fertig.", "Weiter lesen."}), "Fertig. `x`. Weiter lesen.");
}

TEST(UnitSegmentsTest, AFillerBesideAMarkerIsNoSegment) {
  const auto document = ParseAs("html", "<p>It is done.</p><p><code>x</code> \u3164</p>");
  EXPECT_THAT(Segments(*document).texts(), ElementsAre("It is done.")) << "the engine finds no letter in the other";
  EXPECT_EQ(Rendered(*document, {"Fertig."}), "<p>Fertig.</p><p><code>x</code> \u3164</p>");
}

TEST(UnitSegmentsTest, SpaceBesideAMarkerAtAnEndStays) {
  EXPECT_EQ(Rendered(*ParseAs("html", "<p>It is. <code>x</code>\u00a0must be so.</p>"), {"Es ist.", "sei es."}),
            "<p>Es ist. <code>x</code>\u00a0sei es.</p>");
}

TEST(UnitSegmentsTest, APairAroundAMarkerForAWordKeepsItsSpace) {
  EXPECT_EQ(Rendered(*ParseAs("markdown", "It is. **`x`** must be so. Use **`y`** now."),
                     {"Ja.", "muss so.", "Nimm es nun."}),
            "Ja. **`x`** muss so. Nimm **`y`** es nun.");
}

TEST(UnitSegmentsTest, SentencesSpellTheMarkersAtTheirEnds) {
  const auto document = ParseAs("markdown", "Save it! `a` is new. Use `b` or `c`");
  const auto segments = UnitSegments::Create(document->units(), {.source_language = "en", .markers = 16});
  ASSERT_TRUE(segments.ok());
  EXPECT_THAT(segments->texts(), ElementsAre("Save it!", "⟦0⟧ is new.", "Use ⟦0⟧ or ⟦2⟧"));
  const auto rendered = document->Render(segments->Join({"Sichern!", "Neu ist ⟦0⟧.", "⟦2⟧ oder ⟦0⟧ nutzen"}));
  EXPECT_EQ(*rendered, "Sichern! Neu ist `a`. `c` oder `b` nutzen");
}

TEST(UnitSegmentsTest, SentencesWithoutSpaceBetweenThemGetOne) {
  const auto html = ParseAs("html", "<p>你好。<b>世界</b>很大。</p><p>一。<br>二。</p>");
  EXPECT_EQ(Rendered(*html, {"Hello.", "The world is big.", "One.", "Two."}).find("<p>Hello. "), 0u);
  EXPECT_THAT(Rendered(*html, {"Hello.", "The world is big.", "One.", "Two."}), HasSubstr("<p>One.<br>Two.</p>"));
  EXPECT_EQ(Rendered(*html, {"ハロー。", "世界は大きい。", "一。", "二。"}).find("<p>ハロー。"), 0u);
  const auto text = ParseAs("text", "“你好。”世界很大。 再见。\n\n一。");
  EXPECT_EQ(Rendered(*text, {"“Hello.”", "The world is big.", "Bye.", "One."}),
            "“Hello.” The world is big. Bye.\n\nOne.");
  const auto spelled = UnitSegments::Create(html->units(), {.source_language = "zh", .markers = 16});
  ASSERT_TRUE(spelled.ok());
  EXPECT_THAT(spelled->texts(), ElementsAre("你好。", "⟦0⟧世界⟦1⟧很大。", "一。", "二。"));
  EXPECT_EQ(*html->Render(spelled->Join({"Hello.", "The ⟦0⟧world⟦1⟧ is big.", "One.", "Two."})),
            "<p>Hello. The <b>world</b> is big.</p><p>One.<br>Two.</p>");
}

TEST(UnitSegmentsTest, SentencesInPairsThatTouchAreTwo) {
  const auto texts = [](const std::string& html) { return SegmentTexts(*ParseAs("html", "<p>" + html + "</p>")); };
  EXPECT_THAT(texts("Note: <b>Stop the server.</b><b>Start the client.</b>"),
              ElementsAre("Note: Stop the server.", "Start the client."));
  EXPECT_THAT(texts("<i>Is it <b>new?</b></i><i><b>Yes</b>, it is.</i>"), ElementsAre("Is it new?", "Yes, it is."));
  EXPECT_THAT(texts("About <b>ASP.</b><i>NET</i>."), ElementsAre("About ASP.NET."));
  const std::string html = "<p>Say: <b>Stop it.</b><b>Start it.</b></p>";
  EXPECT_EQ(Rendered(*ParseAs("html", html), {"Sag: Halt.", "Los."}), "<p>Sag: <b>Halt.</b><b>Los.</b></p>");
  ExpectIdentity("html", html);
}

TEST(UnitSegmentsTest, TheNumberOfSegmentsIsBounded) {
  std::vector<Unit> units(kMaxSegments + 1);
  for (Unit& unit : units) unit.source.text.assign(1, 'x');
  EXPECT_THAT(UnitSegments::Create(units, {.source_language = "en"}).status().ToString(),
              HasSubstr("the document has more than 262144 segments; split the document"));
  units.resize(2);
  for (Unit& unit : units) {
    for (size_t i = 0; i <= kMaxSegments / 2; ++i) unit.source.text += "x\n";
  }
  EXPECT_THAT(
      UnitSegments::Create(units, {.source_language = "en", .segmentation = Segmentation::kLines}).status().ToString(),
      HasSubstr("the document has more than 262144 segments"));
}

// A segment with terms, and a translation of it by "model".
class TermsTest : public ::testing::Test {
 protected:
  static UnitSegments Of(const std::string& text, const std::string& terms) {
    auto glossary = Glossary::Parse(terms);
    EXPECT_TRUE(glossary.ok()) << glossary.status();
    Unit unit;
    unit.source.text = text;
    auto segments = UnitSegments::Create({unit}, {.source_language = "en", .glossary = &*glossary});
    EXPECT_TRUE(segments.ok()) << segments.status();
    EXPECT_EQ(segments->texts().size(), 1u);
    return *std::move(segments);
  }
  // The n-th word of one side made of the n-th of the other, but for the words with -1.
  static std::vector<TokenLink> Links(const std::string& source, const std::string& translation,
                                      const std::vector<int>& of_target) {
    const std::vector<ByteRange> from = WordsOf(source), to = WordsOf(translation);
    EXPECT_EQ(to.size(), of_target.size());
    std::vector<TokenLink> links;
    for (size_t t = 0; t < of_target.size(); ++t) {
      if (of_target[t] < 0) continue;
      const ByteRange &s = from[of_target[t]], &own = to[t];
      links.push_back({static_cast<int32_t>(s.begin), static_cast<int32_t>(s.end), static_cast<int32_t>(own.begin),
                       static_cast<int32_t>(own.end)});
    }
    return links;
  }
};

TEST_F(TermsTest, ABeginningEndsWithTheFirstTermThatIsLacking) {
  const std::string source = "The fast machine stops.", said = "Nun hält die schnelle Maschine.";
  const UnitSegments segments = Of(source, "machine\tRechner\nfast\tflink\n");
  const auto links = Links(source, said, {-1, 3, 0, 1, 2, 4});
  EXPECT_EQ(segments.BeginningWithTerm(0, said, links, 0), "Nun hält die flink");
  // Once that is said the next one is lacking.
  const std::string with_first = "Nun hält die flinke Maschine.";
  EXPECT_EQ(segments.BeginningWithTerm(0, with_first, Links(source, with_first, {-1, 3, 0, 1, 2, 4}), 18),
            "Nun hält die flinke Rechner");
  EXPECT_EQ(segments.BeginningWithTerm(0, "Der flinke Rechner hält.", {}, 0), std::nullopt);
  EXPECT_EQ(Of("No term.", "machine\tRechner\n").BeginningWithTerm(0, "x", {}, 0), std::nullopt);
}

TEST_F(TermsTest, AHyphenThatIsAlignedWithATermStays) {
  const std::string source = "The Linux server stops.", said = "Der Linux-Server hält.";
  const UnitSegments segments = Of(source, "server\tDienstrechner\n");
  for (const int server : {2, -1}) {
    EXPECT_EQ(segments.BeginningWithTerm(0, said, Links(source, said, {0, 1, 2, server, 3, 4}), 0),
              "Der Linux-Dienstrechner");
  }
  std::vector<TokenLink> links = Links(source, said, {0, 1, 2, 2, 3, 4});
  std::vector<TermUse> uses;
  EXPECT_EQ(segments.WithTerms(0, said, &links, &uses), "Der Linux-Dienstrechner hält.");
  EXPECT_TRUE(uses[0].used);
  EXPECT_EQ(Of("Of .net now.", ".net\t.NET\n").BeginningWithTerm(0, "Von .Netz nun.", {}, 0), "Von .NET")
      << "a mark of the term's own";
}

TEST_F(TermsTest, WhatIsKeptOfATranslationIsNotChanged) {
  const std::string source = "The fast machine stops.", said = "Die flinken Apparate halten.";
  const UnitSegments segments = Of(source, "machine\tRechner\nfast\tflink\n");
  // The machine stands before what is kept, too.
  EXPECT_EQ(segments.BeginningWithTerm(0, said, Links(source, said, {2, 1, 1, 3, 4}), 9), "Die flinken Rechner");
  EXPECT_EQ(segments.BeginningWithTerm(0, "Die flink", {}, 100), "Die flink Rechner") << "behind the end";
}

TEST_F(TermsTest, ATermThatNothingIsMadeOfGoesBetweenTheWordsOfItsNeighbours) {
  const std::string source = "The very fast machine stops.", said = "Der Apparat hält.";
  const UnitSegments segments = Of(source, "fast\tflink\n");
  const auto links = Links(source, said, {0, 3, 4, 5});
  EXPECT_EQ(segments.BeginningWithTerm(0, said, links, 0), "Der flink");
  std::vector<TokenLink> moved = links;
  std::vector<TermUse> uses;
  EXPECT_EQ(segments.WithTerms(0, said, &moved, &uses), said);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_FALSE(uses[0].used) << "there is nothing to replace";
}

TEST_F(TermsTest, OfVeryManyTermsEachIsLackingOnce) {
  std::string source, said, terms;
  for (int i = 0; i < 300; ++i) {
    source += "word" + std::to_string(i) + " ";
    said += "x ";
    terms += "word" + std::to_string(i) + "\tziel" + std::to_string(i) + "\n";
  }
  const UnitSegments segments = Of(source + "end.", terms);
  std::vector<TokenLink> links;
  std::vector<TermUse> uses;
  segments.WithTerms(0, said + "y.", &links, &uses);
  ASSERT_EQ(uses.size(), 300u);
  EXPECT_TRUE(uses[99].used);
  EXPECT_FALSE(uses[299].used);
  EXPECT_EQ(segments.BeginningWithTerm(0, said + "y.", {}, 0), "ziel0");
}

TEST_F(TermsTest, TheTargetsOfVeryManyPlacesAreBounded) {
  std::vector<Unit> units(2000);
  for (Unit& unit : units) {
    for (int i = 0; i < 500; ++i) unit.source.text += "a ";
  }
  Glossary glossary;
  ASSERT_TRUE(glossary.Add({"a", std::string(1000, 'b')}).ok());
  const SegmentOptions options{.source_language = "en", .glossary = &glossary};
  EXPECT_THAT(UnitSegments::Create(units, options).status().ToString(),
              HasSubstr("take more than 67108864 bytes; leave out the most frequent ones"));
  units.resize(100);
  const auto segments = UnitSegments::Create(units, options);
  ASSERT_TRUE(segments.ok()) << segments.status();
  EXPECT_TRUE(segments->has_terms(99));
}

TEST_F(TermsTest, AMarkerWithinATermBlocksIt) {
  const auto document = ParseAs("html", "<p>The data <b>base</b> and a data base stop.");
  Glossary glossary;
  ASSERT_TRUE(glossary.Add({"data base", "Datenbank"}).ok());
  const auto segments =
      UnitSegments::Create(document->units(), {.source_language = "en", .markers = 16, .glossary = &glossary});
  ASSERT_TRUE(segments.ok()) << segments.status();
  std::vector<TokenLink> links;
  std::vector<TermUse> uses;
  segments->WithTerms(0, segments->texts()[0], &links, &uses);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_FALSE(uses[0].used);
  EXPECT_TRUE(uses[1].used);
}

}  // namespace
}  // namespace salient

#include "documents/markers/spelled_markers.h"

#include "documents/segments/segments.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;

std::string Rendered(const FormattedDocument& document, const UnitSegments& segments,
                     const std::vector<std::string>& translations) {
  const auto rendered = document.Render(segments.Join(translations));
  EXPECT_TRUE(rendered.ok()) << rendered.status();
  return rendered.ok() ? *rendered : "";
}

TEST(SpelledMarkersTest, AModelReadsThemWhereTheyStand) {
  const auto document = ParseAs("html", "<p>Press <b>the <i>red</i> key</b> of {name}. Then <code>x</code>.</p>");
  const UnitSegments segments = Segments(*document, 32);
  EXPECT_THAT(segments.texts(), ElementsAre("Press ⟦0⟧the ⟦2⟧red⟦3⟧ key⟦1⟧ of ⟦4⟧.", "Then ⟦0⟧."));
  EXPECT_EQ(Rendered(*document, segments, {"Von ⟦4⟧ ⟦0⟧die ⟦2⟧rote⟦3⟧ Taste⟦1⟧ drücken.", "Dann ⟦0⟧."}),
            "<p>Von {name} <b>die <i>rote</i> Taste</b> drücken. Dann <code>x</code>.</p>");
}

TEST(SpelledMarkersTest, WhatIsAroundASegmentStaysAroundIt) {
  const auto document = ParseAs("html", "<p><b><i>All</i> of it.</b> <u>And this. And that.</u></p>");
  const UnitSegments segments = Segments(*document, 32);
  EXPECT_THAT(segments.texts(), ElementsAre("⟦0⟧All⟦1⟧ of it.", "And this.", "And that."));
  EXPECT_EQ(Rendered(*document, segments, {"Das ⟦0⟧alles⟦1⟧.", "Und dies.", "Und das."}),
            "<p><b>Das <i>alles</i>.</b> <u>Und dies. Und das.</u></p>");
}

TEST(SpelledMarkersTest, SpacesStandWhereTheSourceHasThem) {
  const auto document = ParseAs("html", "<p>See <b>this</b> one.</p>");
  const UnitSegments segments = Segments(*document, 32);
  EXPECT_EQ(Rendered(*document, segments, {"Siehe ⟦0⟧ dies ⟦1⟧ an."}), "<p>Siehe <b>dies</b> an.</p>");
  EXPECT_EQ(Rendered(*document, segments, {"Siehe⟦0⟧ dies ⟦1⟧."}), "<p>Siehe <b>dies</b> .</p>");
}

TEST(SpelledMarkersTest, ATranslationThatBreaksThemIsPutRight) {
  const auto document = ParseAs("html", "<p>See <b>this</b> and <i>that</i> one.</p>");
  const UnitSegments segments = Segments(*document, 32);
  for (const char* broken : {"Siehe dies und das.", "Siehe ⟦0⟧dies⟦0⟧ und das.", "⟦3⟧Siehe⟦2⟧ dies ⟦1⟧und⟦0⟧ das.",
                             "Siehe ⟦0⟧dies ⟦2⟧und⟦1⟧ das⟦3⟧.", "Siehe ⟦9⟧dies und das."}) {
    const std::string rendered = Rendered(*document, segments, {broken});
    EXPECT_THAT(rendered, ::testing::HasSubstr("<b>")) << broken;
    EXPECT_THAT(rendered, ::testing::Not(::testing::HasSubstr("⟦"))) << broken;
  }
}

TEST(SpelledMarkersTest, MoreThanTheModelHasAreLeftOut) {
  std::string source = "<p>See";
  for (int i = 0; i < 17; ++i) source += " <b>w" + std::to_string(i) + "</b> and";
  const auto document = ParseAs("html", source + " more.</p>");
  const UnitSegments segments = Segments(*document, 32);
  EXPECT_EQ(WithoutSpelled(segments.texts()[0]), segments.texts()[0]);
  const UnitSegments enough = Segments(*document, 34);
  EXPECT_NE(WithoutSpelled(enough.texts()[0]), enough.texts()[0]);
}

TEST(SpelledMarkersTest, ATextThatSpellsOneItselfKeepsIt) {
  const auto document = ParseAs("html", "<p>Write ⟦0⟧ before <b>it</b>.</p>");
  const UnitSegments segments = Segments(*document, 32);
  EXPECT_THAT(segments.texts(), ElementsAre("Write ⟦0⟧ before it."));
  EXPECT_EQ(Rendered(*document, segments, {"Schreib ⟦0⟧ vor es."}), "<p>Schreib ⟦0⟧ vor <b>es</b>.</p>");
}

TEST(SpelledMarkersTest, TwoByThemselvesAreNoPair) {
  const auto document = ParseAs("markdown", "Copy `a` to `b` now.\n");
  EXPECT_THAT(Segments(*document, 32).texts(), ElementsAre("Copy ⟦0⟧ to ⟦2⟧ now."));
}

TEST(SpelledMarkersTest, TextWithoutThem) {
  EXPECT_EQ(WithoutSpelled("⟦0⟧See⟦1⟧ the ⟦2⟧ page ⟦ 3⟧ ⟦1234⟧ ⟦4⟧"), "See the page ⟦ 3⟧ ⟦1234⟧");
}

TEST(SegmentAlignmentTest, LinksOfTokensPlaceMarkers) {
  const auto document = ParseAs("html", "<p>The <b>red</b> house of {n} men.</p>");
  const UnitSegments segments = Segments(*document, 0);
  const std::string source = segments.texts()[0], translation = "La casa roja de hombres.";
  EXPECT_EQ(source, "The red house of men.");
  const auto link = [&](const std::string& from, const std::string& to) {
    const auto begin = static_cast<int32_t>(source.find(from)), at = static_cast<int32_t>(translation.find(to));
    return TokenLink{begin, begin + static_cast<int32_t>(from.size()), at, at + static_cast<int32_t>(to.size())};
  };
  const Alignment alignment = segments.AlignmentOf(0, translation,
                                                   {link("The", "La"), link("house", "casa"), link("red", "roja"),
                                                    link("of", "de"), link("men", "hombres"), link(".", ".")});
  const auto rendered = document->Render(segments.Join({translation}, {alignment}));
  EXPECT_EQ(*rendered, "<p>La casa <b>roja</b> de {n} hombres.</p>");
}

}  // namespace
}  // namespace salient

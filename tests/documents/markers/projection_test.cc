#include "documents/markers/projection.h"

#include <random>

#include "documents/units/unit_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

// A unit of text in which tags such as <b>, </b> and <x/> are markers.
Unit MakeUnit(const std::string& text) {
  UnitBuilder builder(text, {{{}, /*tags=*/true}, /*collapse_space=*/false, /*leave_out_ends=*/false});
  builder.AddText({0, text.size()});
  PlacedUnit unit;
  EXPECT_TRUE(builder.Finish(&unit));
  return unit.unit;
}

// Words of both texts. Target word t is linked to the source word links[t].
Alignment Aligned(const Unit& unit, const std::string& translation, const std::vector<int32_t>& links) {
  Alignment alignment{WordsOf(unit.source.text), WordsOf(translation)};
  EXPECT_EQ(alignment.target.size(), links.size());
  for (const int32_t source : links) {
    alignment.links.push_back({});
    if (source >= 0) alignment.links.back().push_back({source, 1.0f});
  }
  return alignment;
}

std::string Projected(const std::string& source, const std::string& translation, const std::vector<int32_t>& links) {
  const Unit unit = MakeUnit(source);
  const MarkedText placed = ProjectMarkers(unit, translation, Aligned(unit, translation, links));
  EXPECT_TRUE(CheckMarkers(unit.markers, placed).ok()) << CheckMarkers(unit.markers, placed);
  return Flatten(unit.markers, placed);
}

TEST(ProjectionTest, APairGoesAroundTheWordsThatItWasAround) {
  EXPECT_EQ(Projected("the <b>red</b> house", "das rote Haus", {0, 1, 2}), "das <b>rote</b> Haus");
  EXPECT_EQ(Projected("the <b>red</b> house", "la maison rouge", {0, 2, 1}), "la maison <b>rouge</b>");
  EXPECT_EQ(Projected("the <b>red house</b> fell", "gefallen ist das rote Haus", {3, 3, 0, 1, 2}),
            "gefallen ist das <b>rote Haus</b>");
}

TEST(ProjectionTest, AWordThatAttendsToTheWordOfAnotherOneStaysOutside) {
  const std::string translation = "Klicken Sie auf Speichern.";
  const Unit unit = MakeUnit("Click <b>Save</b>.");
  Alignment alignment{WordsOf(unit.source.text), WordsOf(translation)};
  alignment.links = {{{0, 7}}, {{1, 3}}, {{1, 3}}, {{1, 9}}, {{2, 1}}};
  EXPECT_EQ(Flatten(unit.markers, ProjectMarkers(unit, translation, alignment)), "Klicken Sie auf <b>Speichern</b>.");
  // Parts of one word stay together.
  alignment.target = WordsOf("Klicken Sie Sicher-Knopf.");
  alignment.links = {{{0, 7}}, {{1, 3}}, {{1, 6}}, {{1, 1}}, {{1, 5}}, {{2, 1}}};
  EXPECT_EQ(Flatten(unit.markers, ProjectMarkers(unit, "Klicken Sie Sicher-Knopf.", alignment)),
            "Klicken Sie <b>Sicher-Knopf</b>.");
}

TEST(ProjectionTest, APairWithinAWordStaysThere) {
  EXPECT_EQ(Projected("H<sub>2</sub>O is wet", "nass ist H2O", {2, 1, 0}), "nass ist H<sub>2</sub>O");
  EXPECT_EQ(Projected("an area of 5 m<sup>2</sup> or x<i>i</i><sup>2</sup>", "xi2 oder 5 m2 groß", {6, 5, 3, 4, 1}),
            "x<i>i</i><sup>2</sup> oder 5 m<sup>2</sup> groß");
  EXPECT_EQ(Projected("<b>CO<sub>2</sub> now</b>", "jetzt CO2", {1, 0}), "<b>jetzt CO<sub>2</sub></b>");
  // A part of the word is in the translation.
  EXPECT_EQ(Projected("the 1<sup>st</sup> one", "der 1. da", {0, 1, 1, 2}), "der 1<sup>.</sup> da");
  // Another word.
  EXPECT_EQ(Projected("<u>O</u>pen it", "öffne es", {0, 1}), "<u>öffne</u> es");
}

TEST(ProjectionTest, AMarkBehindAWordIsApartFromIt) {
  EXPECT_EQ(Projected("The house<sub>1</sub> is big.", "Das Haus1 ist groß.", {0, 1, 2, 3, 4}),
            "Das Haus<sub>1</sub> ist groß.");
  EXPECT_EQ(Projected("The <b>house<sub>1,</sub><sub>2</sub></b> is", "Es ist das Haus1,2", {0, 2, 0, 1}),
            "Es ist das <b>Haus<sub>1,</sub><sub>2</sub></b>");
  EXPECT_EQ(Projected("<sup>1</sup>A house", "1Ein Haus", {0, 1}), "<sup>1</sup>Ein Haus");
  EXPECT_EQ(Projected("10<sup>6</sup> times it", "es 106mal", {2, 0}), "es 10<sup>6</sup>mal");
  // Other numbers.
  EXPECT_EQ(Projected("in B<sup>1</sup> now", "in B21 jetzt", {0, 1, 2}), "in <sup>B21</sup> jetzt");
  EXPECT_EQ(Projected("10<sup>6</sup> times", "1067 mal", {0, 1}), "<sup>1067</sup> mal");
}

TEST(ProjectionTest, AWordIsDividedAsItsTranslationIs) {
  const std::string source = "See the note<sub>1</sub> and the table<sub>2</sub>.";
  EXPECT_EQ(Projected(source, "Siehe note1 und die Tabelle2.", {0, 2, 3, 4, 5, 6}),
            "Siehe note<sub>1</sub> und die Tabelle<sub>2</sub>.");
  // Nothing of "table2" is in the translation.
  EXPECT_EQ(Projected(source, "Siehe note1 und die Tabelle.", {0, 2, 3, 5, 5, 6}),
            "Siehe note<sub>1</sub> und <sub>die Tabelle</sub>.");
}

TEST(ProjectionTest, APartOfAWordThatIsLinkedLessIsFound) {
  const Unit unit = MakeUnit("10<sup>6</sup> times, 6 times");
  const std::string translation = "106mal, 6mal";
  Alignment alignment = Aligned(unit, translation, {1, 2, 3});
  alignment.links[0].push_back({0, 0.5f});
  alignment.links[2].push_back({0, 0.5f});
  EXPECT_EQ(Flatten(unit.markers, ProjectMarkers(unit, translation, alignment)), "10<sup>6</sup>mal, 6mal");
}

TEST(ProjectionTest, WhatIsNotTranslatedIsAlignedWordByWord) {
  const Alignment alignment = AlignWithItself("2 3, 2 3");
  EXPECT_EQ(alignment.source.size(), 5u);
  ASSERT_EQ(alignment.target.size(), 5u);
  for (size_t word = 0; word < 5; ++word) {
    ASSERT_EQ(alignment.links[word].size(), 1u);
    EXPECT_EQ(alignment.links[word][0].source, static_cast<int32_t>(word));
    EXPECT_EQ(alignment.source[word].begin, alignment.target[word].begin);
  }
}

TEST(ProjectionTest, PairsNest) {
  EXPECT_EQ(Projected("<a>one <b>two</b> three</a> four", "vier drei zwei eins", {3, 2, 1, 0}),
            "vier <a>drei <b>zwei</b> eins</a>");
  // The inner pair's word is now outside the range of the outer pair, so it takes another one.
  EXPECT_EQ(Projected("<a>one <b>two</b></a> three four", "eins drei vier zwei", {0, 2, 3, 1}),
            "<a><b>eins</b></a> drei vier zwei");
}

TEST(ProjectionTest, NeighboursDoNotOverlap) {
  EXPECT_EQ(Projected("<a>one</a> <b>two</b>", "zwei eins", {1, 0}), "<b>zwei</b> <a>eins</a>");
  EXPECT_EQ(Projected("<a>one</a> <b>two</b>", "beides", {0}), "<a>beides</a><b></b>");
}

TEST(ProjectionTest, APairThatNoWordIsMadeOfTakesOne) {
  EXPECT_EQ(Projected("Learn <a>more</a> about us.", "Weitere Informationen zu uns.", {0, 0, 2, 3, 4}),
            "Weitere <a>Informationen</a> zu uns.");
  EXPECT_EQ(Projected("one two three. Turn it <a><b>off</b></a>.", "eins zwei drei. Schalten das aus.",
                      {0, 1, 2, 3, 4, 5, -1, 7}),
            "eins zwei drei. Schalten das <a><b>aus</b></a>.");
  EXPECT_EQ(Projected("it is<b>,</b> too", "es auch", {0, 3}), "es<b></b> auch") << "no word";
  EXPECT_EQ(Projected("is it <b>so</b>?", "?", {3}), "<b></b>?") << "no word is free";
}

TEST(ProjectionTest, AnEmptyPairKeepsTheSpaceAroundIt) {
  EXPECT_EQ(Projected("Click <i></i> to save", "Klicken zum Speichern", {0, 1, 2}), "Klicken <i></i> zum Speichern");
  EXPECT_EQ(Projected("Click <i></i>.", "Klicken.", {0, 1}), "Klicken <i></i>.");
  EXPECT_EQ(Projected("Click<i></i> to", "Klicken zum", {0, 1}), "Klicken<i></i> zum");
}

TEST(ProjectionTest, AMarkerByItselfFollowsItsNeighbours) {
  EXPECT_EQ(Projected("Open <x/> now please", "Bitte jetzt öffnen", {2, 1, 0}), "Bitte <x/> jetzt öffnen");
  EXPECT_EQ(Projected("Delete <x/>.", "Löschen.", {0, 1}), "Löschen <x/>.");
  EXPECT_EQ(Projected("<x/> files", "Dateien", {0}), "<x/> Dateien");
  EXPECT_EQ(Projected("files <x/>", "Dateien", {0}), "Dateien <x/>");
  EXPECT_EQ(Projected("to<x/> file", "zu Datei", {0, 1}), "zu<x/> Datei");
}

TEST(ProjectionTest, AMarkerThatTouchesAWordStaysWithIt) {
  EXPECT_EQ(Projected("Delete {name}?", "Löschen wollen Sie das jetzt?", {0, -1, -1, -1, -1, 1}),
            "Löschen wollen Sie das jetzt {name}?");
  EXPECT_EQ(Projected("Click {name}.", "Klicken Sie auf.", {0, 1, 1, 1}), "Klicken Sie auf {name}.");
  EXPECT_EQ(Projected("founded in Berlin<x/> and grew", "in Berlin gegründet und wuchs", {1, 2, 0, 3, 4}),
            "in Berlin<x/> gegründet und wuchs");
}

TEST(ProjectionTest, SpaceBetweenNeighboursStays) {
  EXPECT_EQ(Projected("Welcome, <x/> <y/>!", "Willkommen, !", {0, 1, 2}), "Willkommen, <x/> <y/>!");
  EXPECT_EQ(Projected("with <x/> <y/>.", "mit.", {0, 1}), "mit <x/> <y/>.");
  EXPECT_EQ(Projected("with <x/><y/> <z/>.", "mit  .", {0, 1}), "mit <x/><y/> <z/>.");
  EXPECT_EQ(Projected("<b><x/></b> <y/> it", "es", {0}), "<b><x/></b> <y/> es");
  EXPECT_EQ(Projected("<b>it <x/></b> <y/> is", "ist es", {1, 0}), "<y/> ist <b>es <x/></b>");
}

TEST(ProjectionTest, AWordThatLosesItsPunctuationGetsASpace) {
  EXPECT_EQ(Projected("so ask {x}.", "so fragen Sie.", {0, 1, -1, -1}), "so fragen {x} Sie.");
  EXPECT_EQ(Projected("so ask <b>{x}</b>.", "so fragen Sie.", {0, 1, -1, -1}), "so fragen <b>{x}</b> Sie.");
  EXPECT_EQ(Projected("so ask {x}.", "so fragen!.", {0, 1, -1, -1}), "so fragen {x}!.");
}

TEST(ProjectionTest, OrderedMarkersStayInOrder) {
  Unit unit = MakeUnit("one <x/>two <y/>three");
  for (Marker& marker : unit.markers) marker.ordered = true;
  const std::string translation = "drei zwei eins";
  const MarkedText placed = ProjectMarkers(unit, translation, Aligned(unit, translation, {2, 1, 0}));
  EXPECT_TRUE(CheckMarkers(unit.markers, placed).ok());
}

TEST(ProjectionTest, WithoutLinksMarkersKeepTheirPlaceInTheText) {
  EXPECT_EQ(Projected("one two <x/> three four", "a b c d", {-1, -1, -1, -1}), "a b <x/> c d");
}

TEST(ProjectionTest, VeryManyWordsAndMarkersTakeBoundedResources) {
  constexpr size_t kWords = 1000000;
  std::string translation;
  Alignment alignment;
  for (size_t i = 0; i < kWords; ++i) {
    alignment.source.push_back({translation.size(), translation.size() + 1});
    alignment.links.push_back({{static_cast<int32_t>(i), 1.0f}});
    translation += "1 ";
  }
  alignment.target = alignment.source;
  Unit singles, pairs;
  singles.source.text = pairs.source.text = translation;
  for (int32_t i = 0; i < 2000; ++i) {
    singles.markers.push_back({.id = i, .ordered = true});
    singles.source.places.push_back({static_cast<size_t>(i) * 1000, i});
  }
  for (int32_t i = 0; i < 240; ++i) {
    pairs.markers.push_back({i % 2 == 0 ? MarkerKind::kOpen : MarkerKind::kClose, i / 2});
    pairs.source.places.push_back({static_cast<size_t>(i) * 1000 + (i % 2), i});
  }
  for (const Unit& unit : {singles, pairs}) {
    const MarkedText placed = ProjectMarkers(unit, translation, alignment);
    EXPECT_TRUE(CheckMarkers(unit.markers, placed).ok());
    EXPECT_EQ(placed.text, translation);
    EXPECT_NEAR(static_cast<double>(placed.places[100].at), 100000, 10) << "its place in the text";
  }
}

TEST(ProjectionTest, EmptyTranslations) { EXPECT_EQ(Projected("<a>one</a> <x/> two", "", {}), "<a></a><x/>"); }

// For any text, markers and weights: all markers are there, properly nested, and only spaces are added to the
// translation.
TEST(ProjectionTest, HoldsItsPromisesForAnyAlignment) {
  std::mt19937 random(7);
  const auto below = [&random](size_t bound) { return static_cast<size_t>(random() % bound); };
  for (int round = 0; round < 3000; ++round) {
    std::string source, translation;
    std::vector<std::string> open;
    for (size_t i = 0, words = 1 + below(12); i < words; ++i) {
      if (below(3) == 0)
        open.push_back(std::string(1, static_cast<char>('a' + below(3)))), source += "<" + open.back() + ">";
      if (below(4) == 0) source += "<x/>";
      source += i > 0 && below(4) == 0 ? "1" : "word";
      if (below(5) == 0) source += "<y/>";
      if (!open.empty() && below(2) == 0) source += "</" + open.back() + ">", open.pop_back();
      if (below(8) == 0) source += "</b>";
      if (below(6) != 0) source += " ";
    }
    constexpr const char* kWords[] = {"wort ", "wort.", "wort1 ", "1wort ", "word1 ", "1"};
    for (size_t i = 0, words = below(12); i < words; ++i) translation += kWords[below(std::size(kWords))];
    Unit unit = MakeUnit(source);
    for (Marker& marker : unit.markers)
      marker.ordered = marker.ordered || (marker.kind == MarkerKind::kStandalone && below(2) == 0);
    Alignment alignment{WordsOf(unit.source.text), WordsOf(translation)};
    for (size_t t = 0; t < alignment.target.size(); ++t) {
      alignment.links.push_back({});
      for (size_t k = below(4); k > 0 && !alignment.source.empty(); --k) {
        alignment.links.back().push_back(
            {static_cast<int32_t>(below(alignment.source.size())), 0.1f + static_cast<float>(below(10))});
      }
    }
    const MarkedText placed = ProjectMarkers(unit, translation, alignment);
    ASSERT_TRUE(CheckMarkers(unit.markers, placed).ok()) << source << " | " << Flatten(unit.markers, placed);
    std::string kept = placed.text, all = translation;
    std::erase(kept, ' ');
    std::erase(all, ' ');
    ASSERT_EQ(kept, all);
    ASSERT_EQ(placed, ProjectMarkers(unit, translation, alignment));
  }
}

TEST(WordsTest, WordsAndMarks) {
  const std::string text = "It's 3.5 \xc3\xbc\x62\x65r-all, \xe4\xbd\xa0\xe5\xa5\xbd!";
  std::vector<std::string> words;
  for (const ByteRange& word : WordsOf(text)) words.push_back(text.substr(word.begin, word.end - word.begin));
  ASSERT_GE(words.size(), 6u);
  EXPECT_EQ(words[0], "It's");
  EXPECT_EQ(words[1], "3.5");
  EXPECT_EQ(words[2], "über");
  EXPECT_EQ(words[3], "-");
  EXPECT_EQ(words.back(), "!");
}

TEST(AlignByPlaceTest, EqualWordsAnchorTheRest) {
  const Alignment alignment = AlignByPlace("In 1999 Anna met Bob", "Anna traf Bob im Jahr 1999");
  ASSERT_EQ(alignment.links.size(), 6u);
  EXPECT_EQ(alignment.links[0][0].source, 2);  // Anna
  EXPECT_EQ(alignment.links[2][0].source, 4);  // Bob: 1999 would change the order
  for (const auto& links : AlignByPlace("a b c d", "e f g h").links) EXPECT_EQ(links.size(), 1u);
}

// The source words of all target words; -1: none.
std::vector<int32_t> Linked(std::string_view source, std::string_view translation,
                            const std::vector<TokenLink>& links) {
  std::vector<int32_t> found;
  for (const std::vector<Link>& of_word : AlignByLinks(source, translation, links).links) {
    EXPECT_LE(of_word.size(), 1u);
    found.push_back(of_word.empty() ? -1 : of_word[0].source);
  }
  return found;
}

TEST(AlignByLinksTest, AWordThatBothTextsHaveOnceIsItsOwnTranslation) {
  // The attention has linked "Bob" with "met", and "Anna", which the source has twice.
  EXPECT_THAT(Linked("Anna met Bob, Anna", "Bob traf Anna", {{5, 8, 0, 3}, {5, 8, 4, 8}, {15, 19, 9, 13}}),
              testing::ElementsAre(2, 1, 4));
}

TEST(AlignByLinksTest, WordsWithoutALinkAreLinkedByTheirNeighbours) {
  const std::string source = "a b c d e f", translation = "s t u v w x";
  EXPECT_THAT(Linked(source, translation, {{2, 3, 2, 3}, {8, 9, 8, 9}}), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Linked(source, translation, {{8, 9, 2, 3}, {2, 3, 8, 9}}), testing::ElementsAre(-1, 4, -1, -1, 1, -1));
  EXPECT_THAT(Linked(source, translation, {}), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(AlignByLinks("", translation, {}).links[0].size(), 0u);
}

}  // namespace
}  // namespace salient

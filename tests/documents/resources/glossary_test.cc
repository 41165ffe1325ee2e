#include "documents/resources/glossary.h"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Glossary Parsed(const std::string& text) {
  auto glossary = Glossary::Parse(text);
  EXPECT_TRUE(glossary.ok()) << glossary.status();
  return glossary.ok() ? *std::move(glossary) : Glossary();
}

std::vector<std::string> Found(const Glossary& glossary, const std::string& text) {
  std::vector<std::string> found;
  for (const TermMatch& match : glossary.Find(text)) {
    found.push_back(text.substr(match.range.begin, match.range.end - match.range.begin) + " = " +
                    TargetOf(glossary.term(match.term), match.capital));
  }
  return found;
}

// Two words.
std::string Spaced(size_t spaces) {
  std::string text(spaces + 2, ' ');
  text.front() = 'a';
  text.back() = 'b';
  return text;
}

TEST(GlossaryTest, TermsOfAFileAreBounded) {
  EXPECT_TRUE(Glossary::Parse("a\tb\nc\td\na\te\n", {.max_units = 2}).ok()) << "the second a replaces the first";
  EXPECT_THAT(std::string(Glossary::Parse("a\tb\nc\td\ne\tf\n", {.max_units = 2}).status().message()),
              HasSubstr("has more than 2 terms"));
  EXPECT_EQ(Glossary::Parse("a\tb\n", {.max_bytes = 3}).status().message(),
            "has 4 bytes; at most 3 are allowed; leave out what the document does not need");
}

TEST(GlossaryTest, TheLongestTermIsFoundInWholeWords) {
  const Glossary glossary = Parsed("data\tDaten\ndata base\tDatenbank\ncat\tKatze\n");
  EXPECT_THAT(Found(glossary, "The data base has data, not cats or concatenation."),
              ElementsAre("data base = Datenbank", "data = Daten"));
}

TEST(GlossaryTest, ATargetGetsItsSourcesCapital) {
  const Glossary glossary = Parsed("open\töffnen\nSalient\tSalient\n");
  EXPECT_THAT(Found(glossary, "Open it. They open it. SALIENT"),
              ElementsAre("Open = Öffnen", "open = öffnen", "SALIENT = Salient"));
}

TEST(GlossaryTest, FlagsAskForCaseAndForms) {
  const Glossary glossary = Parsed("Go\tGo\tc\nbox\tKasten\ti\nÉtat\tStaat\r\n");
  EXPECT_THAT(Found(glossary, "go Go boxes box boxer ÉTAT"),
              ElementsAre("Go = Go", "boxes = Kasten", "box = Kasten", "ÉTAT = Staat"));
  EXPECT_EQ(FormOf(glossary.term(1), "Kasten", "kastens"), "kastens");
  EXPECT_EQ(FormOf(glossary.term(1), "Kasten", "Kastenwagen"), "Kasten");
  EXPECT_EQ(FormOf(glossary.term(1), "Kasten", "Schachtel"), "Kasten");
  EXPECT_EQ(FormOf(glossary.term(0), "Go", "Gos"), "Go");
}

TEST(GlossaryTest, TargetsThatStandInATranslationAreFoundOnceEach) {
  TargetFinder finder("Der Fluss und das Haus am Fluss, die Flüsse.");
  EXPECT_TRUE(finder.Take("fluss"));
  EXPECT_TRUE(finder.Take("fluss"));
  EXPECT_FALSE(finder.Take("fluss")) << "of three one has an umlaut";
  EXPECT_TRUE(finder.Take("Haus am Fluss"));
  EXPECT_FALSE(finder.Take("Haus der"));
  EXPECT_FALSE(finder.Take("Flüsse die"));
  EXPECT_FALSE(finder.Take(""));
  TargetFinder forms("Die Quelldatei und das Dateisystem, Dateien.");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(forms.Take("Datei")) << i;
  EXPECT_FALSE(forms.Take("Datei"));
  TargetFinder capitals("Servidor A chama o anfitrião.");
  EXPECT_TRUE(capitals.Take("Servidor"));
  EXPECT_FALSE(capitals.Take("servidor")) << "it stands there once, whatever its case";
}

TEST(GlossaryTest, FormsAndCompoundsOfATargetAreTold) {
  EXPECT_TRUE(HasFormOf("des Stromes", "Strom"));
  EXPECT_TRUE(HasFormOf("Hauptstrom", "Strom"));
  EXPECT_TRUE(HasFormOf("Öffnung", "öffn"));
  EXPECT_FALSE(HasFormOf("Umstromung", "Strom")) << "within a word";
  EXPECT_FALSE(HasFormOf("Samt", "Amt")) << "too short to be the end of a compound";
  EXPECT_FALSE(HasFormOf("irmão", "mão")) << "as short, though it has four bytes";
  EXPECT_TRUE(HasFormOf("웹서버", "서버"));
  EXPECT_FALSE(HasFormOf("Fluss", "Strom"));
  EXPECT_FALSE(HasFormOf("Fluss", ""));
}

TEST(GlossaryTest, OfTwoTermsTheLaterCounts) {
  Glossary glossary = Parsed("a b\tx\na b\ty\n");
  EXPECT_THAT(Found(glossary, "a b"), ElementsAre("a b = y"));
  ASSERT_TRUE(glossary.Add({"a b", "z"}).ok());
  ASSERT_TRUE(glossary.Add({"c", "w"}).ok());
  EXPECT_THAT(Found(glossary, "a b c"), ElementsAre("a b = z", "c = w"));
}

TEST(GlossaryTest, WhatIsNoGlossaryIsRefused) {
  EXPECT_THAT(Glossary::Parse("a\tb\nc\n").status().message(), HasSubstr("line 2"));
  EXPECT_THAT(Glossary::Parse("a\tb\tx\n").status().message(), HasSubstr("flags"));
  EXPECT_THAT(Glossary::Parse("a\t\n").status().message(), HasSubstr("without a word"));
  EXPECT_FALSE(Glossary::Parse("a\xff\tb\n").ok());
}

TEST(GlossaryTest, VeryManyTermsMayBeginAlike) {
  Glossary glossary;
  for (int i = 0; i < 100000; ++i) ASSERT_TRUE(glossary.Add({"a b" + std::to_string(i), "x"}).ok());
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "a ";
  EXPECT_THAT(Found(glossary, text + "b7"), ElementsAre("a b7 = x"));
}

TEST(GlossaryTest, OfTermsThatDifferInCaseTheLaterCountsUnlessOneMatchesCase) {
  Glossary glossary = Parsed("server\tServer\ngo\tgehen\nServer\tRechenknecht\nGo\tGo\tc\nGO\tlos\n");
  EXPECT_THAT(Found(glossary, "server Server"), ElementsAre("server = Rechenknecht", "Server = Rechenknecht"));
  EXPECT_THAT(Found(glossary, "Go go"), ElementsAre("Go = Go", "go = los"));
  ASSERT_TRUE(glossary.Add({"server", "Diener"}).ok()) << "the first of them is the last that was added";
  EXPECT_THAT(Found(glossary, "Server"), ElementsAre("Server = Diener"));
}

TEST(GlossaryTest, TermsOfTheSameWordsAreToldByCase) {
  Glossary glossary = Parsed("IT unit\tA\tc\nit unit\tB\tc\nit\tC\ti\nunit tests\tD\nunit test\tE\ti\n");
  EXPECT_THAT(Found(glossary, "it unit, IT unit, It unit tests"),
              ElementsAre("it unit = B", "IT unit = A", "It = C", "unit tests = D"));
  EXPECT_THAT(Found(glossary, "unit test its"), ElementsAre("unit test = E", "its = C"));
  for (size_t i = 1; i <= 100; ++i) EXPECT_TRUE(glossary.Add({Spaced(i), "x"}).ok());
  EXPECT_THAT(glossary.Add({Spaced(101), "x"}).message(), HasSubstr("more than 100 terms differ from 'a "));
  EXPECT_TRUE(glossary.Add({Spaced(1), "y"}).ok()) << "instead of one";
}

TEST(GlossaryTest, WhiteSpaceDoesNotMatter) {
  const Glossary glossary = Parsed(" New York\tNeu-York \tc\nserver \t Dienst\u00a0rechner\tc\n");
  EXPECT_THAT(Found(glossary, "New  York, New\u00a0York, new York"),
              ElementsAre("New  York = Neu-York", "New\u00a0York = Neu-York"));
  EXPECT_THAT(Found(glossary, "Restart the server."), ElementsAre("server = Dienst\u00a0rechner"));
  Glossary lines;
  ASSERT_TRUE(lines.Add({"a\nb", " x \r\n\n y\n"}).ok());
  EXPECT_THAT(Found(lines, "a b"), ElementsAre("a b = x y"));
  EXPECT_THAT(Glossary::Parse("a\t\u00a0\n").status().message(), HasSubstr("without a word"));
}

TEST(GlossaryTest, LettersAreEqualHoweverTheyAreEncoded) {
  const Glossary glossary = Parsed("re\u0301sume\u0301\tLebenslauf\nÉtat\tStaat\tc\n");
  EXPECT_THAT(Found(glossary, "R\u00e9sum\u00e9, E\u0301tat, e\u0301tat"),
              ElementsAre("R\u00e9sum\u00e9 = Lebenslauf", "E\u0301tat = Staat"));
  EXPECT_TRUE(TargetFinder("Das Pru\u0308fgera\u0308t.").Take("Prüfgerät"));
}

TEST(GlossaryTest, ATermIsReplacedWhetherItMatchesCaseOrNot) {
  Glossary glossary = Parsed("Go\tgehen\nGo\tGo\tc\n");
  EXPECT_EQ(glossary.size(), 1u);
  EXPECT_THAT(Found(glossary, "Go go"), ElementsAre("Go = Go"));
  ASSERT_TRUE(glossary.Add({"Go", "los"}).ok());
  EXPECT_EQ(glossary.size(), 1u);
  EXPECT_THAT(Found(glossary, "Go go"), ElementsAre("Go = los", "go = los"));
}

// Comparing each of them at each word took minutes.
TEST(GlossaryTest, VeryManyTermsMayDifferInCaseOnly) {
  constexpr int kCapitals = 7;  // words at the end that may have one
  Glossary glossary;
  for (size_t count = kCapitals; count <= 100; ++count) {
    for (int capitals = 1; capitals <= 100; ++capitals) {
      std::string source;
      for (size_t i = 0; i < count; ++i) {
        const bool capital = count - i <= kCapitals && ((capitals >> (count - i - 1)) & 1) != 0;
        source += capital ? "A " : "a ";
      }
      ASSERT_TRUE(glossary.Add({source, "x", /*match_case=*/true}).ok());
    }
  }
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "a ";
  const std::vector<TermMatch> found = glossary.Find(text + "A");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].range.end - found[0].range.begin, 199u) << "the longest that ends there";
}

TEST(GlossaryTest, ItsBytesGrowWithItsTerms) {
  const size_t none = Glossary().bytes();
  Glossary glossary = Parsed("one two three\tx\n");
  const size_t one = glossary.bytes();
  EXPECT_GT(one, none + sizeof(Term) + 3 * sizeof(std::string));
  EXPECT_LT(one, none + 1024);
  ASSERT_TRUE(glossary.Add({"a", std::string(1000, 'b')}).ok());
  EXPECT_GT(glossary.bytes(), one + 1000);
  EXPECT_LT(Glossary(std::make_shared<const Glossary>(std::move(glossary))).bytes(), one) << "they are the other's";
}

TEST(GlossaryTest, LongTermsAreRefused) {
  const std::string most(1024, 'a'), more(1025, 'a');
  EXPECT_TRUE(Glossary::Parse(most + "\t" + most + "\n").ok());
  EXPECT_THAT(Glossary::Parse(more + "\tx\n").status().message(),
              HasSubstr("line 1: a term's source has 1025 bytes; at most 1024 are allowed"));
  EXPECT_THAT(Glossary().Add({"a", more}).message(), HasSubstr("a term's target has 1025 bytes; at most 1024"));
  std::string words;
  for (int i = 0; i < 101; ++i) words += "a ";
  EXPECT_THAT(Glossary().Add({words, "x"}).message(), HasSubstr("a term's source has 101 words; at most 100"));
}

TEST(SharedGlossaryTest, TermsAreFoundAsIfTheyHadBeenAddedToOne) {
  const std::vector<std::string> sources = {"go",    "Go",    "GO",     "gos",    "Goes",
                                            "go on", "Go on", "go  on", "go ons", "On"};
  const std::string texts[] = {"go Go GO", "gos Gos goes", "go on, Go on, go  on", "go ons, Go Ons", "On on go", "no"};
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    Glossary first, all;
    std::vector<Term> own;
    for (int i = 0; i < 12; ++i) {
      const Term term{sources[random() % sources.size()], std::to_string(i), random() % 3 == 0, random() % 2 == 0};
      ASSERT_TRUE(all.Add(term).ok());
      if (i < round % 13) {
        ASSERT_TRUE(first.Add(term).ok());
      } else {
        own.push_back(term);
      }
    }
    Glossary both(std::make_shared<const Glossary>(std::move(first)));
    for (const Term& term : own) ASSERT_TRUE(both.Add(term).ok());
    EXPECT_EQ(both.size(), all.size()) << round;
    for (const std::string& text : texts) EXPECT_EQ(Found(both, text), Found(all, text)) << round << ": " << text;
  }
}

TEST(SharedGlossaryTest, NothingIsCopied) {
  const auto shared = std::make_shared<const Glossary>(Parsed("house\tHaus\nriver\tFluss\n"));
  Glossary one(shared), other(shared);
  ASSERT_TRUE(one.Add({"house", "Gebäude"}).ok());
  EXPECT_EQ(&one.term(one.Find("a river")[0].term), &shared->term(1));
  EXPECT_THAT(Found(one, "house, river"), ElementsAre("house = Gebäude", "river = Fluss"));
  EXPECT_THAT(Found(other, "house, river"), ElementsAre("house = Haus", "river = Fluss"));
  EXPECT_TRUE(Glossary(nullptr).empty());
}

TEST(SharedGlossaryTest, TermsOfTheSameWordsAreCountedInBothParts) {
  Glossary first;
  for (size_t i = 1; i <= 60; ++i) EXPECT_TRUE(first.Add({Spaced(i), "x"}).ok());
  Glossary both(std::make_shared<const Glossary>(std::move(first)));
  for (size_t i = 61; i <= 100; ++i) EXPECT_TRUE(both.Add({Spaced(i), "x"}).ok());
  EXPECT_TRUE(both.Add({Spaced(1), "y"}).ok()) << "instead of one";
  EXPECT_THAT(both.Add({Spaced(101), "x"}).message(), HasSubstr("more than 100 terms differ from 'a "));
  EXPECT_EQ(both.size(), 100u);
}

}  // namespace
}  // namespace salient

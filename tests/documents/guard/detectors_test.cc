#include "documents/guard/detectors.h"

#include <string>

#include "gmock/gmock.h"

namespace salient {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Texts(std::string_view text) {
  std::vector<std::string> texts;
  for (const GuardWord& word : GuardWords(text)) texts.emplace_back(word.text);
  return texts;
}

Repetition RepetitionIn(std::string_view text) { return RepetitionOf(GuardWords(text)); }

Copied CopiedBetween(std::string_view source, std::string_view translation) {
  return CopiedWords(GuardWords(source), GuardWords(translation));
}

TEST(GuardWordsTest, LettersAndDigitsAreRunsAndIdeographsAlone) {
  EXPECT_THAT(Texts("Größe: 12.5 kB, x86 (中文)"),
              ElementsAre("Größe", ":", "12", ".", "5", "kB", ",", "x86", "(", "中", "文", ")"));
  EXPECT_THAT(Texts("e\u0301te\u0301"), ElementsAre("e\u0301te\u0301"));  // marks belong to their letter
  EXPECT_TRUE(Texts(" \n\u00A0").empty());
}

TEST(GuardWordsTest, KindsAndPlainWords) {
  const std::vector<GuardWord> words = GuardWords("Das Haus x1 12 größe 中 Ärger !");
  std::vector<bool> plain;
  std::vector<WordKind> kinds;
  for (const GuardWord& word : words) {
    plain.push_back(word.is_plain);
    kinds.push_back(word.kind);
  }
  EXPECT_THAT(plain, ElementsAre(false, false, true, false, true, true, false, false));
  EXPECT_THAT(kinds, ElementsAre(WordKind::kLetters, WordKind::kLetters, WordKind::kMixed, WordKind::kDigits,
                                 WordKind::kLetters, WordKind::kLetters, WordKind::kLetters, WordKind::kOther));
}

TEST(GuardWordsTest, WhatPunctuationJoinsIsNotPlain) {
  std::vector<std::string> plain;
  const std::string text = "the (small) dhcp-client, see <input> and foo.bar; \"quoted\", then /usr/bin end.";
  for (const GuardWord& word : GuardWords(text)) {
    if (word.is_plain) plain.emplace_back(word.text);
  }
  EXPECT_THAT(plain, ElementsAre("the", "small", "see", "and", "then", "end"));
}

TEST(GuardWordsTest, BrokenTextIsTakenAsItIs) { EXPECT_FALSE(GuardWords("a \xff\xfe b").empty()); }

TEST(RepetitionTest, LoopsOfOneAndOfMoreWords) {
  EXPECT_EQ(RepetitionIn("no no no").looped, 2);
  EXPECT_EQ(RepetitionIn("a b a b house").looped, 2);
  EXPECT_EQ(RepetitionIn("we go to the town, to the town, to the town.").looped, 7);
  EXPECT_EQ(RepetitionIn("one two three four").looped, 0);
  EXPECT_EQ(RepetitionIn("the cat and the dog").looped, 0);  // "the" is not said twice in a row
  EXPECT_EQ(RepetitionIn("").looped, 0);
}

TEST(RepetitionTest, ShareOfSequencesThatStoodBefore) {
  EXPECT_EQ(RepetitionIn("a b c d e f g h").share, 0);
  // "a b c d" and "b c d e" come again, of nine sequences.
  EXPECT_DOUBLE_EQ(RepetitionIn("a b c d e X Y a b c d e").share, 2.0 / 9);
  EXPECT_EQ(RepetitionIn("a b c d").share, 0);  // too short to tell
}

TEST(NumbersTest, GroupingAndPointsMayChange) {
  EXPECT_EQ(CompareNumbers("It cost 1,234.50 in 1999.", "Es kostete 1999 1.234,50.").missing, 0);
  EXPECT_EQ(CompareNumbers("10,000 people", "10 000 pessoas").missing, 0);
  EXPECT_EQ(CompareNumbers("10,000 people", "10\u00A0000 pessoas").missing, 0);
  EXPECT_EQ(CompareNumbers("At 7 2019 people", "7 2019").missing, 0);  // four digits are no group
}

TEST(NumbersTest, DigitsMayBeThoseOfAnotherScript) {
  const NumberDifference arabic = CompareNumbers("It cost 1,234.50 in 2024.", "كلف ١٬٢٣٤٫٥٠ في ٢٠٢٤.");
  EXPECT_EQ(arabic.missing, 0);
  EXPECT_EQ(arabic.added, 0);
  EXPECT_EQ(CompareNumbers("２０２４年", "In 2024").missing, 0) << "full width";
  EXPECT_EQ(CompareNumbers("२०२४ में", "In 2042").missing, 1) << "Devanagari";
  EXPECT_EQ(CompareNumbers("x² and ½ 一", "x").missing, 0) << "no decimal digits";
}

TEST(NumbersTest, MissingAndAdded) {
  const NumberDifference swapped = CompareNumbers("From 12 to 15 of 12.", "Von 12 bis 51.");
  EXPECT_EQ(swapped.missing, 2);  // 15, and one of the two 12
  EXPECT_EQ(swapped.added, 1);
  EXPECT_EQ(swapped.missing_digits, 0);
  EXPECT_EQ(CompareNumbers("two of them", "2 davon").added, 1);
  EXPECT_EQ(CompareNumbers("7 of 10", "sieben von 10").missing_digits, 1);
}

TEST(LiteralsTest, AddressesIdentifiersAndMarkersMustStay) {
  EXPECT_EQ(MissingLiterals("See https://example.org/a, please.", "Siehe https://example.org/a bitte."), 0);
  EXPECT_EQ(MissingLiterals("See https://example.org/a, please.", "Siehe bitte."), 1);
  EXPECT_EQ(MissingLiterals("Write to me@example.org.", "Schreiben Sie mir."), 1);
  EXPECT_EQ(MissingLiterals("Set max_size and getName (x86).", "Setzen Sie max-size und getname (x68)."), 3);
  EXPECT_EQ(MissingLiterals("The \u27E60\u27E7page\u27E61\u27E7", "Die \u27E60\u27E7Seite"), 1);
  EXPECT_EQ(MissingLiterals("A \u27E6word\u27E7 \u27E6\u27E7 in brackets", "Ein Wort"), 0) << "no markers";
}

TEST(LiteralsTest, WordsOfTheLanguageAreNone) {
  EXPECT_EQ(MissingLiterals("The 10th state-of-the-art NATO meeting, 3-year term, it's Peter's.", "Das Treffen."), 0);
}

TEST(CopiedTest, WordsThatAreNoNames) {
  const Copied left = CopiedBetween("The house stands near the river.", "The house stands near the river.");
  EXPECT_EQ(left.words, 4);
  EXPECT_EQ(left.share, 1);
  const Copied names = CopiedBetween("The White House in Berlin", "Das White House in Berlin");
  EXPECT_EQ(names.words, 0);
  const Copied half = CopiedBetween("The house stands near.", "Das Haus stands near etwas anderem");
  EXPECT_EQ(half.words, 2);
  EXPECT_EQ(half.share, 0.5);
  EXPECT_EQ(CopiedBetween("他们到了", "他们到了").words, 4);
  EXPECT_EQ(CopiedBetween("Ok.", "Ok.").share, 0);
}

// Links every word of the source from `begin` to `end` with the translation's first byte.
TokenLink LinkOf(int32_t begin, int32_t end) { return {begin, end, 0, 1}; }

TEST(GapTest, WordsInARowWithoutALink) {
  const std::string source = "One two three, four 5 six.";
  const std::vector<GuardWord> words = GuardWords(source);
  EXPECT_EQ(LongestGap(source, words, {}), -1);
  EXPECT_EQ(LongestGap(source, words, {LinkOf(0, 3), LinkOf(15, 19), LinkOf(22, 25)}), 2);  // two three
  EXPECT_EQ(LongestGap(source, words, {LinkOf(0, 3)}), 4);  // two three four six; 5 is passed over
  EXPECT_EQ(LongestGap(source, words, {LinkOf(0, 26)}), 0);
}

}  // namespace
}  // namespace salient

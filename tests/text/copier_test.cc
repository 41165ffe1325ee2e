#include "engine/text/copier.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/text/copy_promise.h"
#include "tests/text/letters.h"

namespace salient {
namespace {

std::string Marker(int number) { return "\u27e6" + std::to_string(number) + "\u27e7"; }

class CopierTest : public ::testing::Test {
 protected:
  explicit CopierTest(const std::string& source = Letters::kAscii, const std::string& target = Letters::kAscii,
                      const std::string& in_bytes = "{")
      : copier_({std::make_shared<Letters>(source), std::make_shared<Letters>(target), nullptr}, Letters::kSpecial,
                in_bytes) {}

  std::string Read(const std::string& text, const std::string& prefix = "") const {
    return Substituted(text, copier_.For(text, prefix));
  }
  // What a model's translation becomes.
  std::string Restored(const std::string& source, const std::string& written) const {
    return Substituted(written, CopiesIn(written, source, copier_.For(source)));
  }

  const Copier copier_;
};

TEST_F(CopierTest, TextThatIsKnownStaysAsItIs) {
  EXPECT_TRUE(copier_.For("The house, \"the river\" - and a {.").empty());
  EXPECT_TRUE(copier_.For("").empty());
}

TEST_F(CopierTest, AMarkerStandsForAWholeWordOrASymbol) {
  EXPECT_EQ(Read("I met \u0141ukasz."), "I met \u27e60\u27e7.");
  EXPECT_EQ(Read("\u0141ukasz paid \u00a35 of \u20ac10."), "\u27e60\u27e7 paid \u27e62\u27e75 of \u27e64\u27e710.");
  EXPECT_EQ(Read("C# and C:\\temp"), "C\u27e60\u27e7 and C:\u27e62\u27e7temp");
  EXPECT_EQ(Read("x \u2265 5"), "x \u27e60\u27e7 5");
  EXPECT_EQ(Read("the A38\u0660 road"), "the \u27e60\u27e7 road");  // a digit of Arabic
}

TEST_F(CopierTest, CopiesTakeTheirMarkersPlaces) {
  const std::string source = "\u0141ukasz paid \u00a35.";
  EXPECT_EQ(Restored(source, "5\u27e62\u27e7 zahlte \u27e60\u27e7."), "5\u00a3 zahlte \u0141ukasz.");
  EXPECT_EQ(Restored(source, "Niemand zahlte."), "Niemand zahlte.");
  EXPECT_EQ(Restored(source, "5\u27e62\u27e7 zahlte.\u27e60\u27e7"), "5\u00a3 zahlte. \u0141ukasz");
  EXPECT_EQ(Restored("a5,\u00a35.", "a5,\u27e60\u27e75."), "a5,\u00a35.");
  EXPECT_EQ(Restored("The house.", "Das \u27e60\u27e7 Haus."), "Das \u27e60\u27e7 Haus.");  // not ours
}

TEST_F(CopierTest, CopiesNextToEachOtherAreOne) {
  EXPECT_EQ(Read("We met \u0141ukasz \u017b\u00f3\u0142w here."), "We met \u27e60\u27e7 here.");
  EXPECT_EQ(Restored("We met \u0141ukasz \u017b\u00f3\u0142w here.", "\u27e60\u27e7 trafen wir."),
            "\u0141ukasz \u017b\u00f3\u0142w trafen wir.");
  EXPECT_EQ(Read("\u2605\u2605\u2605\u2606"), "\u27e60\u27e7");
  EXPECT_EQ(Read("\u0141ukasz, \u0141ukasz"), "\u27e60\u27e7, \u27e62\u27e7");
}

TEST_F(CopierTest, WordsInSmallLettersLoseTheirAccents) {
  EXPECT_EQ(Read("a na\u00efve caf\u00e9"), "a naive cafe");
  EXPECT_EQ(Read("e\u0301lan"), "elan");               // a letter and a mark
  EXPECT_EQ(Read("a s\u0142owo"), "a \u27e60\u27e7");  // a letter without marks
  EXPECT_EQ(Read("Jos\u00e9"), "\u27e60\u27e7");       // a name
}

TEST_F(CopierTest, TypographyBecomesAscii) {
  EXPECT_EQ(Read("\u201cIt\u2019s\u201d \u2013 so\u2014so \u00abno\u00bb \u22125"), "\"It's\" - so-so \"no\" -5");
  EXPECT_EQ(Read("10\u00a0000\u2009km"), "10 000 km");
}

TEST_F(CopierTest, InvisibleCharactersAreLeftOut) {
  EXPECT_EQ(Read("co\u00adoperation\u200b is"), "cooperation is");
  // But not within a copy: an emoji of two with a joiner, one with a variation selector, a flag with tags.
  const std::string emoji = "\U0001F469\u200d\U0001F4BB";
  EXPECT_EQ(Read("I am " + emoji + " now"), "I am \u27e60\u27e7 now");
  EXPECT_EQ(Restored("I am " + emoji + " now", "\u27e60\u27e7 bin ich"), emoji + " bin ich");
  EXPECT_EQ(Read("I \u2764\ufe0f it"), "I \u27e60\u27e7 it");
  EXPECT_EQ(Restored("I \u2764\ufe0f it", "\u27e60\u27e7"), "\u2764\ufe0f");
  const std::string flag = "\U0001F3F4\U000E0067\U000E0062\U000E007F";
  EXPECT_EQ(Restored("a " + flag, "\u27e60\u27e7"), flag);
}

TEST_F(CopierTest, MarkersOfTheTextKeepTheirNumbers) {
  EXPECT_EQ(Read("See \u27e60\u27e7\u0141ukasz\u27e61\u27e7 and \u27e65\u27e7 \u20ac."),
            "See \u27e60\u27e7\u27e62\u27e7\u27e61\u27e7 and \u27e65\u27e7 \u27e66\u27e7.");
  EXPECT_EQ(Read("a \u27e6 b"), "a \u27e60\u27e7 b");  // a bracket that spells none
}

TEST_F(CopierTest, WhatMarkersDoNotSufficeForStays) {
  std::string text, read;
  for (int i = 0; i < 20; ++i) {
    text += "\u20ac5 ";
    read += (i < 16 ? Marker(2 * i) : "\u20ac") + "5 ";
  }
  EXPECT_EQ(Read(text), read);
}

TEST_F(CopierTest, WhatAPrefixContainsIsNotCopied) {
  EXPECT_EQ(Read("\u0141ukasz paid \u00a35.", "\u0141ukasz za"), "\u0141ukasz paid \u27e60\u27e75.");
}

// Only a damaged model has such markers. What is left is in order and disjoint, as Moves takes it.
TEST(CopiesInTest, OfMarkersThatOverlapTheFirstIsReplaced) {
  const std::vector<Substitution> read = {{0, 1, "#a#b", true}, {2, 3, "#b##", true}};
  const std::vector<Substitution> copies = CopiesIn("#a#b##", "8 9", read);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(Substituted("#a#b##", copies), "8##");
  EXPECT_EQ(CopiesIn("#a#b#b##", "8 9", read).size(), 2u) << "these are next to each other";
}

TEST_F(CopierTest, EqualFromManyThreads) {
  const std::string text = "\u0141ukasz paid \u00a35 \u2014 \u65e5\u672c \U0001F600, re\u0301al";
  const std::string expected = "\u27e60\u27e7 paid \u27e62\u27e75 - \u27e64\u27e7, real";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { EXPECT_EQ(Read(text), expected); });
  for (std::thread& thread : threads) thread.join();
}

// A text may have a million different words and a prefix some thousand bytes: searched for each, they took half a
// minute.
TEST_F(CopierTest, APrefixIsSearchedForAThousandSymbols) {
  const std::string prefix = "\u2605";
  std::string text;
  const auto append = [&text](int from, int count) {
    for (int c = from; c < from + count; ++c) {
      for (int byte : {0xE0 | c >> 12, 0x80 | (c >> 6 & 0x3F), 0x80 | (c & 0x3F)}) text += static_cast<char>(byte);
    }
  };
  append(0x2800, 256);  // patterns of Braille
  append(0x2900, 768);
  const size_t sought = text.size();
  EXPECT_EQ(copier_.For(text, prefix), (std::vector<Substitution>{{0, sought, Marker(0), true}}));
  append(0x2190, 1);
  text += "\u2800";  // was sought
  EXPECT_EQ(copier_.For(text, prefix),
            (std::vector<Substitution>{{0, sought, Marker(0), true}, {sought + 3, sought + 6, Marker(2), true}}));
  EXPECT_EQ(copier_.For(text, "a").size(), 1u) << "that is too short to have them";
  EXPECT_EQ(copier_.For(text).size(), 1u);
}

// A prefix that has the symbol, or symbols that begin with the same byte: each of them is looked for, but not by
// reading the text again.
TEST_F(CopierTest, ALongTextOfWhatThePrefixHasIsReadOnce) {
  std::string text = "a";
  for (int i = 0; i < 200'000; ++i) text += "\u2605";
  EXPECT_TRUE(copier_.For(text, "\u2605").empty());
  EXPECT_EQ(copier_.For(text, "\u2606").size(), 1u);
}

// Nobody puts its marks into order.
TEST_F(CopierTest, ALongWordOfMarksIsReadOnce) {
  std::string text = "a";
  for (int i = 0; i < 500'000; ++i) text += "\u0301";
  for (int i = 0; i < 500'000; ++i) text += "\u0323";
  EXPECT_EQ(Read(text), "a");
}

class CharactersWithMarksTest : public ::testing::Test {
 protected:
  // How often the tokenizer is asked.
  int Asked(const std::string& text) {
    letters_->asked = 0;
    copier_.For(text);
    return letters_->asked;
  }

  // Words of one letter with two marks each, all different.
  static std::string Words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += static_cast<char>('a' + i % 26);
      for (const int mark : {i / 26 % 64, i / 26 / 64}) text.append("\xcc").push_back(static_cast<char>(0x80 + mark));
      text += ' ';
    }
    return text;
  }

  const std::shared_ptr<CountedLetters> letters_ = std::make_shared<CountedLetters>();
  const Copier copier_{{letters_, letters_, nullptr}, Letters::kSpecial, ""};
};

TEST_F(CharactersWithMarksTest, AreAskedForOnce) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "a\u0301 e\u0301a\u0301 ";
  // Of each side: two letters, both with the mark, and the space.
  EXPECT_LE(Asked(text), 10);
  EXPECT_EQ(Asked(text), 0) << "they are kept from text to text";
}

// Words in small letters are read without their marks, whose letters are known.
TEST_F(CharactersWithMarksTest, AreKeptUpToABound) {
  const int most = static_cast<int>(KnownCharacters::kMostMarked);
  const std::string few = Words(most / 2), many = Words(4 * most);
  EXPECT_GE(Asked(few), most);
  EXPECT_EQ(Asked(few), 0);
  EXPECT_GE(Asked(many), 6 * most);
  EXPECT_GE(Asked(many), 6 * most) << "all of them are kept";
  Asked(few);
  EXPECT_EQ(Asked(few), 0) << "those that came last are not kept";
}

// Whatever the text is, the changes are in order, and a model that copies what it reads gives back every copy.
TEST_F(CopierTest, RandomTextComesBack) {
  static constexpr const char* kParts[] = {
      "a",      "house",      " ",      ".",      "\u0141", "\u00e9", "\u20ac", "\u200b",
      "\u2019", "\u65e5",     "\u0301", "\u00ad", "\u27e6", "3",      "\u27e7", "\u27e62\u27e7",
      "\ufe0f", "\U0001F600", "\u200d", "\u0660", "\u00a0", "\ufffd", "{",      "\ue000"};
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (uint32_t j = random() % 40; j > 0; --j) text += kParts[random() % std::size(kParts)];
    ASSERT_STREQ(BrokenPromise(copier_, text), nullptr) << text;
    const std::vector<Substitution> made = copier_.For(text);
    const auto copies =
        std::count_if(made.begin(), made.end(), [](const Substitution& change) { return change.is_copy; });
    // The text may spell marker 2.
    EXPECT_TRUE(copies >= 15 || Read(text).find("\u20ac") == std::string::npos) << text;
  }
}

// From Russian: the target's vocabulary has none of the source's letters.
class CopierOfAnotherScriptTest : public CopierTest {
 protected:
  CopierOfAnotherScriptTest()
      : CopierTest(std::string(Letters::kAscii) + "\u043c\u0438\u0440\u041c\u2192",
                   std::string(Letters::kAscii) + "\u00e9", "") {}
};

TEST_F(CopierOfAnotherScriptTest, WordsOfTheSourcesScriptAreTranslated) {
  EXPECT_EQ(Read("\u043c\u0438\u0440"), "\u043c\u0438\u0440");
  EXPECT_EQ(Read("IT-\u043c\u0438\u0440"), "IT-\u043c\u0438\u0440");
  EXPECT_EQ(Read("\u043c\u0438\u0440X"), "\u27e60\u27e7");  // of both scripts
  EXPECT_EQ(Read("\u041c\u0438\u0436"), "\u27e60\u27e7");   // the source lacks the last letter
}

TEST_F(CopierOfAnotherScriptTest, SymbolsThatTheTargetLacksAreCopied) {
  EXPECT_EQ(Read("a \u2192 b"), "a \u27e60\u27e7 b");
}

}  // namespace
}  // namespace salient

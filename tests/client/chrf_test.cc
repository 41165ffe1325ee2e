#include "client/chrf.h"

#include "gtest/gtest.h"

namespace salient {
namespace {

// The expected values are those of sacrebleu.corpus_chrf, version 2.4.3.
constexpr double kClose = 1e-9;

TEST(ChrfTest, CountsOfAllDocumentsTogether) {
  EXPECT_NEAR(Chrf({"The cat sat on the mat."}, {"The cat sat on a mat."}), 71.42247563033848, kClose);
  EXPECT_NEAR(Chrf({"Der Server entscheidet.\nEr hält die Kopie.", "Guten Morgen!"},
                   {"Der Server bestimmt es.\n\nEr behält die Kopie.", "Guten  Tag!"}),
              51.84696851774485, kClose);
}

TEST(ChrfTest, CharactersAreCodePoints) {
  EXPECT_NEAR(Chrf({"缓存减少了服务器的负载。\u3000副本保留一小时。"}, {"缓存降低服务器的负载。副本会保留一个小时。"}),
              47.34116801796629, kClose);
  EXPECT_NEAR(Chrf({"Cafe\u0301 \u0928\u092e\u0938\u094d\u0924\u0947 e\u0301\u0302"},
                   {"Caf\u00e9 \u0928\u092e\u0938\u094d\u0915\u093e\u0930 e\u0301"}),
              25.658796776004678, kClose);
  EXPECT_NEAR(Chrf({"Gut 👍🏽 gemacht 👨‍👩‍👧 heute"}, {"Gut 👍 gemacht 👨‍👩‍👦 heute"}),
              65.90070636870237, kClose);
}

TEST(ChrfTest, WhiteSpaceIsWhatPythonTakesForIt) {
  EXPECT_NEAR(Chrf({"a\u00a0b\u1680c\u2003d\u2028e\u202ff\u205fg\u3000h\u0085i\x1cj\tk\u200bl\ufeffm\u180en"},
                   {"abcdefghijk\u200blmn"}),
              83.2290730310455, kClose);
}

TEST(ChrfTest, TextsThatAreShorterThanANGram) {
  EXPECT_NEAR(Chrf({"ab", "x"}, {"abc", "y"}), 54.347826086956516, kClose);
  EXPECT_NEAR(Chrf({"", "Guten Morgen"}, {"Guten Tag", "Guten Morgen"}), 66.56164040123763, kClose);
  EXPECT_NEAR(Chrf({"Guten Tag", "Guten Morgen"}, {"", "Guten Morgen"}), 100, kClose);
  EXPECT_EQ(Chrf({""}, {""}), 0);
  EXPECT_EQ(Chrf({}, {}), 0);
  EXPECT_EQ(Chrf({"abcdefgh"}, {"ijklmnop"}), 0);
}

}  // namespace
}  // namespace salient

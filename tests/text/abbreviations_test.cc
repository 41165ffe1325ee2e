#include "engine/text/abbreviations.h"

#include <string>

#include "gtest/gtest.h"

namespace salient {
namespace {

// Whether a boundary at '|' is considered false.
bool IsFalse(const std::string& marked, std::string_view language) {
  const size_t at = marked.find('|');
  const std::string text = marked.substr(0, at) + marked.substr(at + 1);
  return IsFalseSentenceBoundary(text, at, language);
}

TEST(AbbreviationsTest, TitlesAndLatin) {
  EXPECT_TRUE(IsFalse("Dr. |Smith", "en"));
  EXPECT_TRUE(IsFalse("met Mrs.  |Smith", "en-GB"));
  EXPECT_TRUE(IsFalse("(e.g. |This", "en"));
  EXPECT_FALSE(IsFalse("He saw the doctor. |Smith", "en"));
  EXPECT_FALSE(IsFalse("apples etc. |Then", "en"));
  EXPECT_FALSE(IsFalse("Dr. |Smith", "la"));  // no list for Latin
}

TEST(AbbreviationsTest, SomeOnlyBeforeNumbers) {
  EXPECT_TRUE(IsFalse("Symphony No. |9", "en"));
  EXPECT_FALSE(IsFalse("He said no. |Then", "en"));
  EXPECT_TRUE(IsFalse("Zimmer Nr. |9", "de"));
  EXPECT_FALSE(IsFalse("Zimmer Nr. |Neun", "de"));
}

TEST(AbbreviationsTest, Initials) {
  EXPECT_TRUE(IsFalse("J. |S. Bach", "en"));
  EXPECT_TRUE(IsFalse("J. S. |Bach", "fr"));
  EXPECT_TRUE(IsFalse("z. |B. Hunde", "de"));
  EXPECT_TRUE(IsFalse("Ö. |Müller", "de"));
  EXPECT_FALSE(IsFalse("So do I. |Then", "en"));
  EXPECT_TRUE(IsFalse("Karl I. |Stuart", "de"));
}

TEST(AbbreviationsTest, Ordinals) {
  EXPECT_TRUE(IsFalse("am 3. |Oktober", "de"));
  EXPECT_TRUE(IsFalse("im 19. |Jahrhundert", "de-AT"));
  EXPECT_FALSE(IsFalse("im Jahr 1999. |Dann", "de"));
  EXPECT_FALSE(IsFalse("There were 3. |Then", "en"));
}

TEST(AbbreviationsTest, Quotations) {
  EXPECT_TRUE(IsFalse("\"Really?\" |he asked", "en"));
  EXPECT_TRUE(IsFalse("„Wirklich?“ |fragte er", "de"));
  EXPECT_TRUE(IsFalse("“Really?” |he asked", "en"));
  EXPECT_FALSE(IsFalse("\"Really?\" |He asked", "en"));
  EXPECT_FALSE(IsFalse("really? |he asked", "en"));
}

TEST(AbbreviationsTest, EdgesOfTheText) {
  EXPECT_FALSE(IsFalse("|", "en"));
  EXPECT_FALSE(IsFalse(".|", "en"));
  EXPECT_FALSE(IsFalse(". |A", "en"));
  EXPECT_FALSE(IsFalse("|A", "en"));
  EXPECT_FALSE(IsFalse(std::string(1000, 'a') + ". |A", "en"));
  EXPECT_TRUE(IsFalse("Dr.|",
                      ""
                      "en"));
}

}  // namespace
}  // namespace salient

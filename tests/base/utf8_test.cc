#include "engine/base/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace salient {
namespace {

TEST(Utf8Test, AcceptsEveryLengthOfCharacter) {
  EXPECT_EQ(FirstInvalidText(""), std::nullopt);
  EXPECT_EQ(FirstInvalidText("plain"), std::nullopt);
  EXPECT_EQ(FirstInvalidText("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
            std::nullopt);
  EXPECT_EQ(FirstInvalidText("\xed\x9f\xbf\xee\x80\x80"), std::nullopt);  // either side of the surrogates
}

TEST(Utf8Test, NamesTheFirstByteThatIsNoText) {
  EXPECT_EQ(FirstInvalidText(std::string("ab\0c", 4)), 2u);
  EXPECT_EQ(FirstInvalidText("ab\xff"), 2u);
  EXPECT_EQ(FirstInvalidText("\x80"), 0u);              // a continuation byte alone
  EXPECT_EQ(FirstInvalidText("a\xc3"), 1u);             // ends within a character
  EXPECT_EQ(FirstInvalidText("a\xe2\x82"), 1u);         // ends within a character
  EXPECT_EQ(FirstInvalidText("a\xe2\x82z"), 1u);        // the character is not completed
  EXPECT_EQ(FirstInvalidText("\xc3\xa4\xc0\xaf"), 2u);  // overlong
  EXPECT_EQ(FirstInvalidText("\xe0\x9f\xbf"), 0u);      // overlong
  EXPECT_EQ(FirstInvalidText("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(FirstInvalidText("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
}

}  // namespace
}  // namespace salient

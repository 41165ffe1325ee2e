#include "engine/base/utf8.h"

#include <string>
#include <string_view>
#include <vector>

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

TEST(Utf8Test, TheEdgesOfTheRanges) {
  for (const char* valid : {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                            "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(FirstInvalidUtf8(valid), std::nullopt) << valid;
  }
  for (const char* invalid :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE1\x80",
        "\xE1\x80\x41", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF1\x80\x80", "\xFF"}) {
    EXPECT_EQ(FirstInvalidUtf8("\u00e9" + std::string(invalid)), 2u);
  }
}

TEST(Utf8Test, NulIsAValidCharacterButNoText) {
  EXPECT_EQ(FirstInvalidUtf8(std::string_view("a\0b", 3)), std::nullopt);
  EXPECT_EQ(FirstInvalidText(std::string_view("a\0b", 3)), 1u);
}

TEST(Utf8Test, APrefixHasWholeCharacters) {
  const std::string text = "a\u00e4\u20ac\U0001F600";  // characters of 1, 2, 3 and 4 bytes
  const std::vector<size_t> sizes = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (size_t most = 0; most < sizes.size(); ++most) {
    EXPECT_EQ(Utf8Prefix(text, most), text.substr(0, sizes[most])) << most;
  }
  EXPECT_EQ(Utf8Prefix(std::string(8, '\x80'), 6).size(), 3u) << "bytes that are no text";
}

}  // namespace
}  // namespace salient

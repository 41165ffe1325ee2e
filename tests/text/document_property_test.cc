// Properties of all documents, tested with random ones.

#include <random>
#include <string>
#include <vector>

#include "engine/text/document.h"
#include "gtest/gtest.h"
#include "tests/text/segment_texts.h"
#include "unicode/uchar.h"
#include "unicode/utf8.h"

namespace salient {
namespace {

constexpr int kDocuments = 3000;

bool IsLineBreak(UChar32 c) { return (c >= 0x0a && c <= 0x0d) || c == 0x85 || c == 0x2028 || c == 0x2029; }

std::vector<UChar32> Characters(const std::string& text) {
  std::vector<UChar32> characters;
  for (size_t at = 0; at < text.size();) {
    UChar32 c;
    U8_NEXT_UNSAFE(text.data(), at, c);
    characters.push_back(c);
  }
  return characters;
}

// Random text made of parts that matter to segmentation, with any other character now and then.
std::string RandomDocument(std::mt19937& random) {
  static const char* const kParts[] = {"word",
                                       "Word",
                                       " ",
                                       " ",
                                       " ",
                                       " ",
                                       "\n",
                                       "\n\n",
                                       "\r\n",
                                       "\r",
                                       ". ",
                                       ".",
                                       "! ",
                                       "? ",
                                       "\"",
                                       "Dr. ",
                                       "- ",
                                       "1. ",
                                       "> ",
                                       "\t",
                                       "42",
                                       "z. ",
                                       "B.",
                                       "\xC2\xA0",
                                       "\xEF\xBB\xBF",
                                       "ä",
                                       "学",
                                       "。",
                                       "\xE2\x80\xA8",
                                       "\v",
                                       "(",
                                       ")",
                                       "and so on and on with words ",
                                       "\xC2\x85",
                                       "\xE2\x80\x9C",
                                       "\xE2\x80\x9D ",
                                       "\xF0\x9F\x98\x80"};
  std::string text;
  const int parts = std::uniform_int_distribution(0, 80)(random);
  for (int i = 0; i < parts; ++i) {
    if (random() % 16 != 0) {
      text += kParts[random() % std::size(kParts)];
      continue;
    }
    UChar32 c = static_cast<UChar32>(random() % 0x110000);
    if (c == 0 || (c >= 0xd800 && c < 0xe000)) c = 'x';
    char bytes[4];
    int length = 0;
    U8_APPEND_UNSAFE(bytes, length, c);
    text.append(bytes, length);
  }
  return text;
}

// The text with every run of white space around a line break replaced by one space, which is all that unwrapping may
// change.
std::string Unwrapped(const std::string& text) {
  std::string result, run;
  bool has_break = false;
  for (const UChar32 c : Characters(text)) {
    char bytes[4];
    int length = 0;
    U8_APPEND_UNSAFE(bytes, length, c);
    if (u_isUWhiteSpace(c) || c == 0xfeff || c == 0x200b) {
      run.append(bytes, length);
      has_break = has_break || IsLineBreak(c);
      continue;
    }
    result += has_break ? " " : run;
    run.clear();
    has_break = false;
    result.append(bytes, length);
  }
  return result + (has_break ? " " : run);
}

void ExpectWellFormed(const SegmentedDocument& document, const std::string& source) {
  for (const Segment& segment : document.segments) {
    const std::vector<UChar32> characters = Characters(segment.text);
    ASSERT_FALSE(characters.empty()) << source;
    EXPECT_FALSE(u_isUWhiteSpace(characters.front()) || u_isUWhiteSpace(characters.back())) << source;
    bool letter = false;
    for (const UChar32 c : characters) {
      EXPECT_FALSE(IsLineBreak(c)) << source;
      letter = letter || u_isalpha(c);
    }
    EXPECT_TRUE(letter) << source;
  }
  for (const UChar32 c : Characters(document.tail)) EXPECT_FALSE(u_isalpha(c)) << source;
}

TEST(DocumentPropertyTest, NothingIsLostOrAdded) {
  std::mt19937 random(20260701);
  int exact = 0;
  for (int i = 0; i < kDocuments; ++i) {
    const std::string text = RandomDocument(random);
    const auto document = SplitDocument(text, Segmentation::kSentences, i % 2 == 0 ? "en" : "de");
    ASSERT_TRUE(document.ok()) << document.status();
    ExpectWellFormed(*document, text);
    const std::string joined = JoinDocument(*document, Texts(*document));
    EXPECT_EQ(Unwrapped(joined), Unwrapped(text));
    exact += joined == text;
  }
  EXPECT_GT(exact, kDocuments * 9 / 10) << "wrapped paragraphs are the exception in such documents";
}

TEST(DocumentPropertyTest, ShortLinesAreRestoredExactly) {
  std::mt19937 random(7);
  for (int i = 0; i < kDocuments; ++i) {
    std::string text;
    for (const UChar32 c : Characters(RandomDocument(random))) {
      char bytes[4];
      int length = 0;
      U8_APPEND_UNSAFE(bytes, length, c);
      text.append(bytes, length);
      if (random() % 8 == 0) text += '\n';
    }
    const auto document = SplitDocument(text, Segmentation::kSentences, "en");
    ASSERT_TRUE(document.ok()) << document.status();
    size_t longest = 0, current = 0;
    for (const UChar32 c : Characters(text)) {
      current = IsLineBreak(c) ? 0 : current + 1;
      longest = std::max(longest, current);
    }
    if (longest < 45) {
      EXPECT_EQ(JoinDocument(*document, Texts(*document)), text);
    }
  }
}

TEST(DocumentPropertyTest, LinesAreAlwaysRestoredExactly) {
  std::mt19937 random(8);
  for (int i = 0; i < kDocuments; ++i) {
    const std::string text = RandomDocument(random);
    const auto document = SplitDocument(text, Segmentation::kLines, "en");
    ASSERT_TRUE(document.ok()) << document.status();
    ExpectWellFormed(*document, text);
    EXPECT_EQ(JoinDocument(*document, Texts(*document)), text);
  }
}

TEST(DocumentPropertyTest, BytesThatAreNoTextAreRefusedAtTheirOffset) {
  std::mt19937 random(9);
  for (int i = 0; i < kDocuments; ++i) {
    const std::string head = RandomDocument(random);
    const std::string text = head + (i % 2 == 0 ? '\xff' : '\0') + RandomDocument(random);
    const auto document = SplitDocument(text, Segmentation::kSentences, "en");
    ASSERT_FALSE(document.ok());
    EXPECT_NE(document.status().message().find("byte " + std::to_string(head.size())), absl::string_view::npos);
  }
}

}  // namespace
}  // namespace salient

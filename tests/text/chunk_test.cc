#include "engine/text/chunk.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SpecialTokens kSpecial;
constexpr int32_t kFirstByte = 10;

// One token per byte, so that lengths are easy to see. A byte after a space begins a word; the space is no token.
class ByteTokenizer : public Tokenizer {
 public:
  std::vector<int32_t> Encode(std::string_view text) const override {
    std::vector<int32_t> tokens;
    bool starts_word = true;
    for (const unsigned char c : text) {
      if (c != ' ') tokens.push_back(kFirstByte + c + (starts_word ? 256 : 0));
      starts_word = c == ' ';
    }
    return tokens;
  }
  std::string Decode(const std::vector<int32_t>&) const override { return ""; }
  bool IsWritten(int32_t) const override { return true; }
  std::string Piece(int32_t token) const override {
    const int byte = (token - kFirstByte) % 256;
    if (byte >= 0x80) {
      std::ostringstream name;
      name << "<0x" << std::uppercase << std::hex << byte << ">";
      return name.str();
    }
    return (token >= kFirstByte + 256 ? "\xE2\x96\x81" : "") + std::string(1, static_cast<char>(byte));
  }
};

SegmentedDocument Document(const std::vector<std::string>& texts, const std::vector<size_t>& paragraphs = {}) {
  SegmentedDocument document;
  for (const std::string& text : texts) document.segments.push_back({"", text, false});
  for (const size_t i : paragraphs) document.segments[i].starts_paragraph = true;
  return document;
}

std::vector<Chunk> Make(const SegmentedDocument& document, int32_t max_tokens) {
  return MakeChunks(document, ByteTokenizer(), kSpecial, max_tokens);
}

// For each chunk, the segment numbers of its pieces.
std::vector<std::vector<int32_t>> Segments(const std::vector<Chunk>& chunks) {
  std::vector<std::vector<int32_t>> segments;
  for (const Chunk& chunk : chunks) {
    segments.emplace_back();
    for (const Piece& piece : chunk.pieces) segments.back().push_back(piece.segment);
  }
  return segments;
}

std::vector<int32_t> PieceTokens(const std::vector<Chunk>& chunks) {
  std::vector<int32_t> tokens;
  for (const Chunk& chunk : chunks) {
    for (const Piece& piece : chunk.pieces) tokens.push_back(piece.tokens);
  }
  return tokens;
}

TEST(ChunkTest, NoSegmentsNoChunks) { EXPECT_THAT(Make(Document({}), 16), IsEmpty()); }

TEST(ChunkTest, SeparatorsBetweenAndEndAfter) {
  const std::vector<Chunk> chunks = Make(Document({"ab", "c"}), 16);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_THAT(chunks[0].tokens, ElementsAre(kFirstByte + 256 + 'a', kFirstByte + 'b', kSpecial.separator,
                                            kFirstByte + 256 + 'c', kSpecial.end));
  EXPECT_THAT(PieceTokens(chunks), ElementsAre(2, 1));
}

TEST(ChunkTest, FillsUpToTheLastToken) {
  EXPECT_THAT(Segments(Make(Document({"abc", "defg", "hij"}), 9)), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_THAT(Segments(Make(Document({"abc", "defg", "hij"}), 8)),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(Segments(Make(Document({"abc", "defg", "hij"}), 13)), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(ChunkTest, CutsBeforeAParagraphInTheLastHalf) {
  // 4 tokens per segment with its separator, so four segments fit.
  const std::vector<std::string> texts(6, "abc");
  EXPECT_THAT(Segments(Make(Document(texts, {0, 3}), 16)), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  EXPECT_THAT(Segments(Make(Document(texts, {0, 2, 3}), 16)), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)))
      << "the last one";
  EXPECT_THAT(Segments(Make(Document(texts, {0, 2}), 16)), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3, 4, 5)))
      << "half counts";
  EXPECT_THAT(Segments(Make(Document(texts, {0, 1}), 16)), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5)))
      << "in the first half";
  EXPECT_THAT(Segments(Make(Document(texts, {0, 3, 4}), 16)), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5)))
      << "where the chunk ends anyway";
  EXPECT_THAT(Segments(Make(Document(texts, {0, 3}), 24)), ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5))) << "all fits";
}

TEST(ChunkTest, LongSegmentsAreCutBetweenWords) {
  const std::vector<Chunk> chunks = Make(Document({"abcd efgh ijkl", "m"}), 10);
  EXPECT_THAT(Segments(chunks), ElementsAre(ElementsAre(0), ElementsAre(0, 1)));
  EXPECT_THAT(PieceTokens(chunks), ElementsAre(8, 4, 1));
}

TEST(ChunkTest, LongWordsAreCutBetweenCharacters) {
  EXPECT_THAT(PieceTokens(Make(Document({"abcdefghijklmnopq"}), 10)), ElementsAre(9, 8));
  // Three bytes a character: a part of 9 - 1 = 8 bytes would end within one.
  EXPECT_THAT(PieceTokens(Make(Document({"学学学学"}), 9)), ElementsAre(6, 6));
}

TEST(ChunkTest, BytesWithoutCharactersAreCutAnywhere) {
  EXPECT_THAT(PieceTokens(Make(Document({std::string(12, '\x80')}), 8)), ElementsAre(7, 5));
}

TEST(ChunkTest, ASegmentWithoutTokensHasItsPlace) {
  const std::vector<Chunk> chunks = Make(Document({"a", " ", "b"}), 16);
  EXPECT_THAT(PieceTokens(chunks), ElementsAre(1, 0, 1));
  EXPECT_EQ(chunks[0].tokens.size(), 5u);
}

TEST(ChunkTest, EverySegmentOnceInOrder) {
  std::mt19937 random(5);
  const ByteTokenizer tokenizer;
  for (int trial = 0; trial < 2000; ++trial) {
    SegmentedDocument document;
    const int count = static_cast<int>(random() % 30);
    for (int i = 0; i < count; ++i) {
      std::string text;
      const int length = static_cast<int>(random() % (trial % 3 == 0 ? 100 : 12));
      for (int j = 0; j < length; ++j) text += random() % 5 == 0 ? " " : random() % 9 == 0 ? "ä" : "x";
      document.segments.push_back({"", text, random() % 4 == 0});
    }
    const int32_t most = 8 + static_cast<int32_t>(random() % 40);
    std::vector<std::vector<int32_t>> found(count);
    int32_t last = -1;
    for (const Chunk& chunk : MakeChunks(document, tokenizer, kSpecial, most)) {
      ASSERT_LE(static_cast<int32_t>(chunk.tokens.size()), most);
      ASSERT_FALSE(chunk.pieces.empty());
      auto at = chunk.tokens.begin();
      for (size_t i = 0; i < chunk.pieces.size(); ++i) {
        const Piece& piece = chunk.pieces[i];
        ASSERT_TRUE(piece.segment == last || piece.segment == last + 1);
        last = piece.segment;
        found[piece.segment].insert(found[piece.segment].end(), at, at + piece.tokens);
        at += piece.tokens;
        ASSERT_EQ(*at++, i + 1 == chunk.pieces.size() ? kSpecial.end : kSpecial.separator);
      }
      ASSERT_TRUE(at == chunk.tokens.end());
    }
    ASSERT_EQ(last, count - 1);
    for (int i = 0; i < count; ++i) ASSERT_EQ(found[i], tokenizer.Encode(document.segments[i].text));
  }
}

TEST(ChunkTest, WithoutASeparatorEachSegmentIsAChunk) {
  SpecialTokens special;
  special.separator = -1;
  const auto chunks = MakeChunks(Document({"ab", "c", "abcdefghij klmnop"}), ByteTokenizer(), special, 12);
  EXPECT_THAT(Segments(chunks), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(2)));
  for (const Chunk& chunk : chunks) {
    EXPECT_EQ(chunk.tokens.back(), special.end);
    EXPECT_EQ(chunk.pieces[0].tokens + 1, static_cast<int32_t>(chunk.tokens.size()));
  }
}

TEST(ChunkTest, ASourceThatDoesNotEndInTheEndToken) {
  SpecialTokens special;
  special.source_end = false;
  const ByteTokenizer tokenizer;
  auto chunks = MakeChunks(Document({"ab", "c"}), tokenizer, special, 12);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].tokens.back(), tokenizer.Encode("c").back());
  EXPECT_EQ(chunks[0].pieces[0].tokens + 1 + chunks[0].pieces[1].tokens, static_cast<int32_t>(chunks[0].tokens.size()));
  chunks = MakeChunks(Document({"ab", ""}), tokenizer, special, 12);  // each piece has a source token to be aligned to
  EXPECT_EQ(chunks[0].pieces[1].tokens, 0);
  EXPECT_EQ(chunks[0].tokens.back(), special.end);
  special.separator = -1;
  chunks = MakeChunks(Document({"ab", ""}), tokenizer, special, 12);
  EXPECT_EQ(chunks[0].tokens, tokenizer.Encode("ab"));
  EXPECT_THAT(chunks[1].tokens, ElementsAre(special.end));  // a chunk is never empty
}

TEST(ChunkTest, EveryChunkBeginsWithThePrefix) {
  const std::vector<int32_t> prefix = {7, 8};
  for (const bool separates : {true, false}) {
    SpecialTokens special;
    if (!separates) special.separator = -1;
    const auto chunks = MakeChunks(Document({"abcdef", "ghijkl", "mnopqr"}), ByteTokenizer(), special, 17, prefix);
    ASSERT_EQ(chunks.size(), separates ? 2u : 3u);
    for (const Chunk& chunk : chunks) {
      EXPECT_LE(chunk.tokens.size(), 17u);
      EXPECT_EQ((std::vector<int32_t>{chunk.tokens[0], chunk.tokens[1]}), prefix);
      EXPECT_EQ(chunk.pieces[0].tokens, 8);
      EXPECT_TRUE(chunk.pieces.size() == 1 || chunk.pieces[1].tokens == 6);
    }
  }
}

// Remembers the greatest number of bytes that it was asked to tokenize at once.
class MeasuringTokenizer : public ByteTokenizer {
 public:
  std::vector<int32_t> Encode(std::string_view text) const override {
    most = std::max(most, text.size());
    return ByteTokenizer::Encode(text);
  }
  mutable size_t most = 0;
};

TEST(ChunkTest, AVeryLongSegmentIsReadInPortionsAndLosesNothing) {
  std::string words, letters;
  for (int i = 0; words.size() < 5 * kPortionBytes; ++i) {
    words += std::string(1 + i % 9, static_cast<char>('a' + i % 26)) + " ";
  }
  words.pop_back();
  while (letters.size() < 3 * kPortionBytes) letters += "\xC3\xA4\xC3\xB6\xC3\xBC";
  for (const std::string& text : {words, letters}) {
    MeasuringTokenizer tokenizer;
    const std::vector<Chunk> chunks = MakeChunks(Document({text}), tokenizer, kSpecial, 500);
    EXPECT_LE(tokenizer.most, kPortionBytes);
    std::vector<int32_t> tokens;
    for (const Chunk& chunk : chunks) {
      ASSERT_LE(chunk.tokens.size(), 500u);
      for (const Piece& piece : chunk.pieces) EXPECT_EQ(piece.segment, 0);
      // A separator between two pieces of one segment does not belong to the segment.
      std::copy_if(chunk.tokens.begin(), chunk.tokens.end() - 1, std::back_inserter(tokens),
                   [](int32_t token) { return token != kSpecial.separator; });
    }
    std::vector<int32_t> whole = ByteTokenizer().Encode(text);
    ASSERT_EQ(tokens.size(), whole.size());
    if (text == words) {
      EXPECT_EQ(tokens, whole) << "portions end before words";
    }
  }
}

TEST(ChunkTest, APortionOfSpacesAloneIsNoPiece) {
  const std::vector<Chunk> chunks = Make(Document({"a" + std::string(3 * kPortionBytes, ' ') + "b"}), 500);
  int32_t tokens = 0;
  for (const Chunk& chunk : chunks) {
    for (const Piece& piece : chunk.pieces) {
      EXPECT_GT(piece.tokens, 0);
      tokens += piece.tokens;
    }
  }
  EXPECT_EQ(tokens, 2);
}

}  // namespace
}  // namespace salient

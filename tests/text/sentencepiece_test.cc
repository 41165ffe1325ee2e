// Our unigram models against the reference implementation: the same tokens for the same text, and the same text back.

#include "engine/text/sentencepiece.h"

#include <sentencepiece_processor.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/text/tiny_tokenizer.h"

namespace salient {
namespace {

struct Variant {
  const char* name;
  const char* normalization;
  bool separator_in_text;
};

class AgainstReferenceTest : public ::testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    const std::string path =
        ::testing::TempDir() + "salient_sentencepiece_test_" + GetParam().name + std::to_string(getpid());
    TinyTokenizerOptions options;
    options.normalization = GetParam().normalization;
    options.separator_in_text = GetParam().separator_in_text;
    ASSERT_EQ(TrainTinyTokenizer(path, options), "");
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path);
    std::string error;
    ours_ = SentencePiece::Parse(bytes, error);
    ASSERT_NE(ours_, nullptr) << error;
    ASSERT_TRUE(theirs_.LoadFromSerializedProto(bytes).ok());
  }

  void Compare(const std::string& text) {
    std::vector<int> expected;
    ASSERT_TRUE(theirs_.Encode(text, &expected).ok());
    ASSERT_EQ(ours_->Encode(text), expected) << text;
    CompareDecoded(expected);
  }

  void CompareDecoded(const std::vector<int>& tokens) {
    std::string expected;
    ASSERT_TRUE(theirs_.Decode(tokens, &expected).ok());
    ASSERT_EQ(ours_->Decode(tokens), expected);
  }

  std::unique_ptr<SentencePiece> ours_;
  sentencepiece::SentencePieceProcessor theirs_;
};

TEST_P(AgainstReferenceTest, ThePieces) {
  ASSERT_EQ(ours_->size(), theirs_.GetPieceSize());
  EXPECT_EQ(ours_->pad(), theirs_.pad_id());
  EXPECT_EQ(ours_->unknown(), theirs_.unk_id());
  EXPECT_EQ(ours_->begin(), theirs_.bos_id());
  EXPECT_EQ(ours_->end(), theirs_.eos_id());
  for (int token = 0; token < ours_->size(); ++token) {
    EXPECT_EQ(ours_->Piece(token), theirs_.IdToPiece(token));
    EXPECT_EQ(ours_->IsControl(token), theirs_.IsControl(token));
    EXPECT_EQ(ours_->Find(ours_->Piece(token)), token);
  }
  EXPECT_EQ(ours_->Find("no such piece"), -1);
}

TEST_P(AgainstReferenceTest, ChosenTexts) {
  for (const char* text : {"",
                           " ",
                           "   ",
                           "a",
                           "The old house.",
                           "  The   old\thouse \n",
                           "<sep>",
                           "a<sep>b",
                           "<sep><sep> <s>",
                           "<0x41>",
                           "▁",
                           "a▁b",
                           "ﬁne ｈｏｕｓｅ Ⅷ ㌔",
                           "Größe né e\xCC\x81",
                           "学校 😀👍🏽",
                           "\xFF\xFE bad \xC3",
                           "\xE3\x81",
                           "a\xF0\x9F",
                           "\xEF\xBB\xBF bom",
                           "zero\xE2\x80\x8Bwidth",
                           "nbsp\xC2\xA0here",
                           "tab\there\r\nline"}) {
    Compare(text);
  }
}

TEST_P(AgainstReferenceTest, RandomTexts) {
  const std::vector<std::string> parts = {"the",  "old",   "Haus", " ",  " ",     "  ", "ß", "é", "e\xCC\x81",
                                          "ﬁ",    "ｈ",    "学",   "😀",  "<sep>", "▁",  ".", ",", "\xC3",
                                          "\x80", "Fluss", "ing",  "\t", "1",     "½",  "™"};
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    const uint32_t length = random() % 30;
    for (uint32_t k = 0; k < length; ++k) text += parts[random() % parts.size()];
    Compare(text);
  }
}

TEST_P(AgainstReferenceTest, RandomTokens) {
  std::mt19937 random(9);
  for (int i = 0; i < 3000; ++i) {
    std::vector<int> tokens(random() % 12);
    for (int& token : tokens) token = static_cast<int>(random() % ours_->size());
    CompareDecoded(tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AgainstReferenceTest,
                         ::testing::Values(Variant{"identity", "identity", false}, Variant{"nfkc", "nmt_nfkc", false},
                                           Variant{"casefold", "nmt_nfkc_cf", false},
                                           Variant{"user_defined", "nmt_nfkc", true}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(SentencePieceTest, OtherKindsOfModelAreRefused) {
  const std::string path = ::testing::TempDir() + "salient_sentencepiece_test_bpe" + std::to_string(getpid());
  TinyTokenizerOptions options;
  options.model_type = "bpe";
  ASSERT_EQ(TrainTinyTokenizer(path, options), "");
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  std::string error;
  EXPECT_EQ(SentencePiece::Parse(bytes, error), nullptr);
  EXPECT_EQ(error, "its model_type is 2; only unigram (1) is supported");
}

// A serialised ModelProto of an unknown piece, some other pieces, and a character map.
std::string ModelBytes(const std::vector<std::string>& pieces, const std::string& charsmap) {
  const auto field = [](int number, const std::string& bytes) {
    std::string wire(1, static_cast<char>(number << 3 | 2));
    size_t size = bytes.size();
    for (; size >= 0x80; size >>= 7) wire += static_cast<char>(size | 0x80);
    return wire + static_cast<char>(size) + bytes;
  };
  std::string bytes = field(1, field(1, "<unk>") + "\x18\x02");
  for (const std::string& piece : pieces) bytes += field(1, field(1, piece));
  return bytes + field(2, "\x18\x01") + field(3, field(2, charsmap));
}

std::string ErrorOf(const std::string& model) {
  std::string error;
  EXPECT_EQ(SentencePiece::Parse(model, error), nullptr);
  return error;
}

TEST(SentencePieceTest, AbsurdModelsAreRefused) {
  std::string error;
  EXPECT_NE(SentencePiece::Parse(ModelBytes({"a", std::string(512, 'b')}, ""), error), nullptr) << error;
  EXPECT_EQ(ErrorOf(ModelBytes({"a", std::string(513, 'b')}, "")), "a piece has 513 bytes; at most 512 are possible");
  EXPECT_EQ(ErrorOf(ModelBytes({""}, "")), "a piece is empty");
  EXPECT_EQ(ErrorOf(ModelBytes({"a", "a"}, "")), "the piece 'a' is there twice");
  EXPECT_EQ(ErrorOf("x"), "its bytes are not a sentencepiece.ModelProto");
}

TEST(SentencePieceTest, AbsurdCharacterMapsAreRefused) {
  const std::string trie("\4\0\0\0\0\0\0\0", 8), end("\0", 1);
  std::string error;
  EXPECT_NE(SentencePiece::Parse(ModelBytes({"a"}, trie + std::string(256, 'x') + end), error), nullptr) << error;
  const std::string damaged = "its normalizer_spec.precompiled_charsmap is damaged";
  EXPECT_EQ(ErrorOf(ModelBytes({"a"}, trie + std::string(257, 'x') + end)), damaged) << "a replacement too long";
  EXPECT_EQ(ErrorOf(ModelBytes({"a"}, trie + "x")), damaged) << "without an end";
  EXPECT_EQ(ErrorOf(ModelBytes({"a"}, trie)), damaged) << "without replacements";
  EXPECT_EQ(ErrorOf(ModelBytes({"a"}, "\1")), damaged) << "too short for a size";
}

}  // namespace
}  // namespace salient

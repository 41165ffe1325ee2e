// Models that we read, check and write again, compared with the library on the original file: the same tokens for the
// same text, and the same text back. Also tests which models are refused.

#include "engine/text/sentencepiece.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"
#include "tests/text/library_model.h"
#include "tests/text/made_charsmap.h"
#include "tests/text/regression_texts.h"
#include "tests/text/tiny_tokenizer.h"

namespace salient {
namespace {

std::string Trained(const TinyTokenizerOptions& options) {
  const TempFolder folder;
  EXPECT_EQ(TrainTinyTokenizer(folder / "tokenizer.model", options), "");
  return ReadFile(folder / "tokenizer.model");
}

struct Variant {
  const char* name;
  TinyTokenizerOptions options;
};

class AgainstLibraryTest : public ::testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    const std::string bytes = Trained(GetParam().options);
    auto parsed = SentencePiece::Parse(bytes);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ours_ = *std::move(parsed);
    ASSERT_TRUE(theirs_.Load(bytes));
  }

  void Compare(const std::string& text) {
    const std::vector<int> expected = theirs_.Encode(text);
    std::vector<int> tokens;
    std::vector<std::string> taken;
    ours_->Encode(text, [&](int token, std::string_view piece) {
      tokens.push_back(token);
      taken.emplace_back(piece);
    });
    ASSERT_EQ(tokens, expected) << text;
    ASSERT_EQ(taken, theirs_.EncodeAsPieces(text)) << text;
    CompareDecoded(expected);
  }

  void CompareDecoded(const std::vector<int>& tokens) { ASSERT_EQ(ours_->Decode(tokens), theirs_.Decode(tokens)); }

  std::unique_ptr<SentencePiece> ours_;
  LibraryModel theirs_;
};

TEST_P(AgainstLibraryTest, ThePieces) {
  ASSERT_EQ(ours_->size(), theirs_.size());
  EXPECT_EQ(ours_->pad(), theirs_.pad());
  EXPECT_EQ(ours_->unknown(), theirs_.unknown());
  EXPECT_EQ(ours_->begin(), theirs_.begin());
  EXPECT_EQ(ours_->end(), theirs_.end());
  for (int token = 0; token < ours_->size(); ++token) {
    EXPECT_EQ(ours_->Piece(token), theirs_.Piece(token));
    EXPECT_EQ(ours_->IsControl(token), theirs_.IsControl(token));
    EXPECT_EQ(ours_->Find(ours_->Piece(token)), token);
  }
  EXPECT_EQ(ours_->Find("no such piece"), -1);
}

TEST_P(AgainstLibraryTest, ChosenTexts) {
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

TEST_P(AgainstLibraryTest, ManyTexts) {
  for (const std::string& text : RegressionTexts(2000)) Compare(text);
}

TEST_P(AgainstLibraryTest, RandomTokens) {
  std::mt19937 random(9);
  for (int i = 0; i < 3000; ++i) {
    std::vector<int> tokens(random() % 12);
    for (int& token : tokens) token = static_cast<int>(random() % ours_->size());
    CompareDecoded(tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, AgainstLibraryTest,
    ::testing::Values(
        Variant{"identity", {}}, Variant{"nfkc", {.normalization = "nmt_nfkc"}},
        Variant{"casefold", {.normalization = "nmt_nfkc_cf"}},
        Variant{"user_defined", {.separator_in_text = true, .normalization = "nfkc"}},
        Variant{"bpe", {.normalization = "nmt_nfkc", .model_type = "bpe"}},
        Variant{"bpe_user_defined", {.separator_in_text = true, .model_type = "bpe"}},
        Variant{"unknown", {.vocab_size = 60, .byte_fallback = false}},
        Variant{"bpe_unknown", {.vocab_size = 60, .model_type = "bpe", .byte_fallback = false}},
        Variant{"as_it_is", {.more = {{"add_dummy_prefix", "false"}, {"remove_extra_whitespaces", "false"}}}},
        Variant{"suffix", {.more = {{"treat_whitespace_as_suffix", "true"}}}},
        Variant{"unk_surface", {.vocab_size = 60, .byte_fallback = false, .more = {{"unk_surface", "??"}}}}),
    [](const auto& param) { return std::string(param.param.name); });

// A user-defined piece is never split, and no other piece overlaps it.
TEST(SentencePieceTest, UserDefinedPiecesStayWhole) {
  for (const char* type : {"unigram", "bpe"}) {
    const auto model = SentencePiece::Parse(Trained({.separator_in_text = true, .model_type = type}));
    ASSERT_TRUE(model.ok()) << model.status();
    const int marker = (*model)->Find("<sep>");
    ASSERT_GE(marker, 0);
    for (const std::string text : {"<sep>", "The<sep>house", "<sep><sep>The <sep> river<sep>."}) {
      int expected = 0, found = 0;
      for (size_t at = 0; (at = text.find("<sep>", at)) != text.npos; ++at) ++expected;
      for (const int token : (*model)->Encode(text)) found += token == marker;
      EXPECT_EQ(found, expected) << type << ": " << text;
    }
  }
}

// A model with an unknown piece, and two pieces for text; tests change it.
SentencePieceModel Made() {
  SentencePieceModel model;
  model.pieces = {{"<unk>", 0, PieceType::kUnknown}, {"</s>", 0, PieceType::kControl}, {"\xE2\x96\x81", -1}, {"a", -1}};
  return model;
}

std::string ErrorOf(const SentencePieceModel& model) {
  const auto parsed = SentencePiece::Parse(WriteSentencePieceModel(model));
  return std::string(parsed.status().message());
}

TEST(SentencePieceTest, WordAndCharacterModelsAreRefused) {
  for (const char* type : {"word", "char"}) {
    TinyTokenizerOptions options{.vocab_size = 60, .model_type = type, .byte_fallback = false};
    options.more["hard_vocab_limit"] = "false";
    const auto parsed = SentencePiece::Parse(Trained(options));
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parsed.status().message()),
                ::testing::MatchesRegex("its model_type is [34] \\((word|char)\\); unigram \\(1\\) and BPE \\(2\\) are "
                                        "supported"));
  }
}

TEST(SentencePieceTest, AbsurdModelsAreRefused) {
  EXPECT_EQ(ErrorOf(Made()), "");
  const auto with = [](const ModelPiece& piece) {
    SentencePieceModel model = Made();
    model.pieces.push_back(piece);
    return ErrorOf(model);
  };
  EXPECT_EQ(with({std::string(512, 'b')}), "");
  EXPECT_EQ(with({std::string(513, 'b')}), "a piece has 513 bytes; at most 512 are possible");
  EXPECT_EQ(with({""}), "a piece is empty");
  EXPECT_EQ(with({"a"}), "the piece 'a' is there twice");
  EXPECT_EQ(with({"a", 0, PieceType::kControl}), "the piece 'a' is there twice");
  EXPECT_EQ(with({std::string("x\0y", 3)}), "a piece is not UTF-8, or has a NUL");
  EXPECT_EQ(with({"\xC3"}), "a piece is not UTF-8, or has a NUL");
  for (const float score : {std::numeric_limits<float>::infinity(), std::nanf(""), 1e10f, -1e10f}) {
    EXPECT_EQ(with({"b", score}), "the score of the piece 'b' is not a number from -1e9 to 1e9");
  }
  EXPECT_EQ(with({"<u>", 0, PieceType::kUnknown}), "it has 2 unknown pieces; 1 is needed");
  EXPECT_EQ(with({"<0x0a>", 0, PieceType::kByte}), "the byte piece '<0x0a>' is not like <0x0A>");
  EXPECT_EQ(with({"<0x0A>", 0, PieceType::kByte}),
            "it has the byte piece '<0x0A>' although its byte_fallback is false");

  SentencePieceModel model = Made();
  model.byte_fallback = true;
  EXPECT_EQ(ErrorOf(model), "it has 0 byte pieces; 256 are needed");
  model = Made();
  model.pieces.resize(2);
  EXPECT_EQ(ErrorOf(model), "it has no piece that text can be cut into");
  model = Made();
  model.unknown_surface = std::string(65, 'x');
  EXPECT_EQ(ErrorOf(model), "its unk_surface is not UTF-8 of at most 64 bytes");
  model = {};
  EXPECT_EQ(ErrorOf(model), "it has no pieces");
  EXPECT_EQ(SentencePiece::Parse("x").status().message(),
            "its bytes are not a sentencepiece.ModelProto of at most 1048576 pieces");
}

TEST(SentencePieceTest, BpeModelsWhoseControlPiecesTextCanSpellAreRefused) {
  for (const char* control : {"b", "é", "学", "😀"}) {
    SentencePieceModel model = Made();
    model.pieces.push_back({control, 0, PieceType::kControl});
    EXPECT_EQ(ErrorOf(model), "") << "a unigram model never looks for it";
    model.kind = SentencePieceModel::kBpe;
    EXPECT_EQ(ErrorOf(model),
              "the control piece '" + std::string(control) + "' is one character, which text can spell");
  }
}

TEST(SentencePieceTest, NoMoreNestedPiecesThanTheLibraryHasRoomFor) {
  for (const auto kind : {SentencePieceModel::kUnigram, SentencePieceModel::kBpe}) {
    SentencePieceModel model = Made();
    model.kind = kind;
    model.pieces.push_back({"z", 0, PieceType::kUserDefined});
    for (size_t i = 1; i <= 64; ++i) model.pieces.push_back({std::string(i, 'b'), 0, PieceType::kUserDefined});
    const auto parsed = SentencePiece::Parse(WriteSentencePieceModel(model));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ((*parsed)->Encode(std::string(130, 'b')).size(), 4u) << "a space, two longest ones, and the rest";
    model.pieces.push_back({std::string(65, 'b'), 0, PieceType::kUserDefined});
    EXPECT_EQ(ErrorOf(model), "more than 64 of its user-defined pieces begin with one another");
  }
}

TEST(SentencePieceTest, MapsAreCheckedAndUsed) {
  const std::string end(1, '\0');
  SentencePieceModel model = Made();
  model.normalizer.charsmap = MadeCharsmap().Add("b", 0).Bytes("aa" + end);
  const auto parsed = SentencePiece::Parse(WriteSentencePieceModel(model));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)->Encode("bb"), std::vector<int>({2, 3, 3, 3, 3}));
  model.normalizer.charsmap.pop_back();
  EXPECT_EQ(ErrorOf(model), "its normalizer_spec.precompiled_charsmap is damaged: its last replacement has no end");

  model = Made();
  model.denormalizer = {.charsmap = MadeCharsmap().Add("a", 0).Bytes("xyz" + end),
                        .add_dummy_prefix = false,
                        .remove_extra_whitespaces = false,
                        .escape_whitespaces = false};
  const auto denormalizing = SentencePiece::Parse(WriteSentencePieceModel(model));
  ASSERT_TRUE(denormalizing.ok()) << denormalizing.status();
  EXPECT_EQ((*denormalizing)->Decode({2, 3, 2, 3}), "xyz xyz");
  model.denormalizer->charsmap.pop_back();
  EXPECT_THAT(ErrorOf(model), ::testing::HasSubstr("denormalizer_spec.precompiled_charsmap is damaged"));
}

// Fields that we do not read never reach the library.
TEST(SentencePieceTest, OtherFieldsAreLeftOut) {
  std::string bytes = WriteSentencePieceModel(Made());
  bytes += std::string("\x22\x08\x0a\x06\x0a\x01x\x12\x01y", 10);  // self_test_data: "x" must become "y"
  EXPECT_FALSE(LibraryModel().Load(bytes));
  EXPECT_TRUE(SentencePiece::Parse(bytes).ok());
}

}  // namespace
}  // namespace salient

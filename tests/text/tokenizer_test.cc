#include "engine/text/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"
#include "tests/text/regression_texts.h"
#include "tests/text/tiny_tokenizer.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

constexpr int kPieces = 320;
constexpr SpecialTokens kSpecial;

TokenizerSpec Spec(int32_t size = kPieces, const SpecialTokens& special = kSpecial) {
  return {.source_size = size, .target_size = size, .special = special};
}

// A model folder that has only tokenizer.model.
class TokenizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(TrainTinyTokenizer(path_), "");
    auto loaded = LoadTokenizers(folder_, Spec());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->source, loaded->target);
    tokenizer_ = loaded->source;
  }

  void Write(const std::string& file, const std::string& bytes) const { WriteFile(temp_ / file, bytes); }
  std::string ErrorOf(const TokenizerSpec& spec) const {
    const auto loaded = LoadTokenizers(folder_, spec);
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(loaded.status().message());
  }

  const TempFolder temp_;
  const std::string& folder_ = temp_.path();
  const std::string path_ = temp_ / "tokenizer.model";
  std::shared_ptr<const Tokenizer> tokenizer_;
};

bool IsSpecial(int32_t token) {
  return token == kSpecial.pad || token == kSpecial.begin || token == kSpecial.end || token == kSpecial.separator;
}

TEST_F(TokenizerTest, TextComesBack) {
  for (const char* text :
       {"The old house stands at the river.", "Sie öffnete das Fenster", "x", "学校 emoji 😀", "Größe"}) {
    const std::vector<int32_t> tokens = tokenizer_->Encode(text);
    EXPECT_FALSE(tokens.empty());
    EXPECT_EQ(tokenizer_->Decode(tokens), text);
  }
  EXPECT_TRUE(tokenizer_->Encode("").empty());
  EXPECT_EQ(tokenizer_->Decode({}), "");
}

TEST_F(TokenizerTest, RandomTextComesBack) {
  static const char* const kParts[] = {"a", "house", " ", "ß", "学", "😀", "<sep>", "</s>", "<0x41>", ".", "\xC2\xA0"};
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string text = "x";  // a segment has no spaces at its ends, and runs of spaces count as one
    const int parts = static_cast<int>(random() % 40);
    for (int j = 0; j < parts; ++j) {
      const char* part = kParts[random() % std::size(kParts)];
      if (std::string(part) != " " || text.back() != ' ') text += part;
    }
    text += "x";
    EXPECT_EQ(tokenizer_->Decode(tokenizer_->Encode(text)), text);
  }
}

TEST_F(TokenizerTest, NoTextSpellsASpecialToken) {
  for (const char* text : {"<sep>", " <sep> ", "a<sep>b", "<pad>", "<s>", "</s>", "<unk>", "▁<sep>", "<sep><sep>"}) {
    for (const int32_t token : tokenizer_->Encode(text)) {
      EXPECT_FALSE(IsSpecial(token)) << text << " gives " << tokenizer_->Piece(token);
    }
  }
}

TEST_F(TokenizerTest, DecodeLeavesSpecialTokensOut) {
  std::vector<int32_t> tokens = tokenizer_->Encode("The river");
  const std::string text = tokenizer_->Decode(tokens);
  tokens.insert(tokens.begin(), {kSpecial.begin, kSpecial.pad, kSpecial.unknown});
  tokens.insert(tokens.begin() + 4, kSpecial.separator);
  tokens.push_back(kSpecial.end);
  tokens.insert(tokens.end(), {-1, kPieces, 1 << 30});  // invalid tokens
  EXPECT_EQ(tokenizer_->Decode(tokens), text);
  for (const int32_t token : tokens)
    EXPECT_EQ(tokenizer_->IsWritten(token), token > kSpecial.separator && token < kPieces);
}

TEST_F(TokenizerTest, BytesThatMakeNoCharacterAreReplaced) {
  int32_t lead = -1;
  for (int32_t token = 0; token < kPieces; ++token) {
    if (tokenizer_->Piece(token) == "<0xE2>") lead = token;
  }
  ASSERT_GE(lead, 0);
  EXPECT_EQ(tokenizer_->Decode({lead}), "\xEF\xBF\xBD");
  std::vector<int32_t> tokens = tokenizer_->Encode("The");
  tokens.push_back(lead);
  EXPECT_EQ(tokenizer_->Decode(tokens), "The\xEF\xBF\xBD");
}

TEST_F(TokenizerTest, PiecesHaveNames) {
  EXPECT_EQ(tokenizer_->Piece(kSpecial.separator), "<sep>");
  EXPECT_EQ(tokenizer_->Piece(-1), "");
  EXPECT_EQ(tokenizer_->Piece(kPieces), "");
  std::set<std::string> names;
  for (int32_t token = 0; token < kPieces; ++token) names.insert(tokenizer_->Piece(token));
  EXPECT_EQ(names.size(), static_cast<size_t>(kPieces));
}

TEST_F(TokenizerTest, ManyThreadsMayUseIt) {
  const std::string text = "The old house stands at the river and nobody knew the answer.";
  const std::vector<int32_t> expected = tokenizer_->Encode(text);
  std::vector<std::thread> threads;
  std::vector<int> same(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 200; ++j) {
        same[i] += tokenizer_->Encode(text) == expected && tokenizer_->Decode(expected) == text;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(same, ::testing::Each(200));
}

TEST_F(TokenizerTest, SizeAndTokensMustBeTheConfigurations) {
  EXPECT_THAT(ErrorOf(Spec(321)), HasSubstr("has 320 pieces; config.json says vocab_size 321"));
  EXPECT_THAT(ErrorOf(Spec(kPieces, {.pad = 1, .unknown = 0})),
              HasSubstr("has the pad token at 0; config.json says tokens.pad 1"));
  EXPECT_THAT(ErrorOf(Spec(kPieces, {.begin = 3, .end = 2})), HasSubstr("bos"));
  EXPECT_THAT(ErrorOf(Spec(kPieces, {.separator = 5})), HasSubstr("has the separator token at 4"));
}

// A prefix of the translation would have tokens that the target's vocabulary lacks.
TEST_F(TokenizerTest, OneTokenizerForBothSidesHasOneSize) {
  TokenizerSpec spec = Spec();
  spec.target_size = kPieces - 20;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("is the tokenizer of both sides, but config.json says source_vocab_size 320"));
  std::filesystem::copy(path_, folder_ + "/target_tokenizer.model");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("target_tokenizer.model has 320 pieces; config.json says vocab_size 300"));
}

TEST_F(TokenizerTest, ModelsOfSingleSentencesStartFromAnyControlPiece) {
  EXPECT_TRUE(LoadTokenizers(folder_, Spec(kPieces, {.begin = 0, .separator = -1})).ok());
  EXPECT_TRUE(LoadTokenizers(folder_, Spec(kPieces, {.pad = 3, .begin = 3, .separator = -1})).ok());
  EXPECT_THAT(ErrorOf(Spec(kPieces, {.begin = 300, .separator = -1})), HasSubstr("bos token, 300, as ordinary text"));
  EXPECT_THAT(ErrorOf(Spec(kPieces, {.pad = 999, .begin = 999, .separator = -1})), HasSubstr("pad token, 999"));
  EXPECT_THAT(ErrorOf(Spec(kPieces, {.end = 2, .separator = -1})), HasSubstr("has the eos token at 3"));
}

TEST_F(TokenizerTest, NoTextSpellsALanguage) {
  TokenizerSpec spec = Spec();
  const int32_t house = tokenizer_->Encode("house").back();
  spec.source_languages = {house};
  const auto loaded = LoadTokenizers(folder_, spec);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->source->Encode("house"), ::testing::Not(::testing::Contains(house)));
  EXPECT_EQ(loaded->target->Decode({house}), "");
}

TEST_F(TokenizerTest, ASeparatorThatTextCanSpellIsRefused) {
  ASSERT_EQ(TrainTinyTokenizer(path_, {.separator_in_text = true}), "");
  EXPECT_THAT(ErrorOf(Spec()), HasSubstr("must be a control symbol"));
}

TEST_F(TokenizerTest, ModelsWithNormalizationLoad) {
  for (const char* type : {"unigram", "bpe"}) {
    ASSERT_EQ(TrainTinyTokenizer(path_, {.normalization = "nmt_nfkc", .model_type = type}), "");
    const auto loaded = LoadTokenizers(folder_, Spec());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->target->Decode(loaded->source->Encode("ｈｏｕｓｅ")), "house");
  }
}

TEST_F(TokenizerTest, FilesThatAreNoModel) {
  for (const std::string& bytes : {std::string(), std::string("no model"), std::string(1000, '\0')}) {
    Write("tokenizer.model", bytes);
    EXPECT_THAT(ErrorOf(Spec()), HasSubstr(path_));
  }
  std::filesystem::remove(path_);
  EXPECT_EQ(LoadTokenizers(folder_, Spec()).status().code(), absl::StatusCode::kNotFound);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(ErrorOf(Spec()), HasSubstr("is a folder"));
}

// Folders of other toolkits' models, whose tokens are indices into a list of pieces.
class ListedPiecesTest : public TokenizerTest {
 protected:
  // The model's pieces in reverse order, followed by `more`.
  std::vector<std::string> Reversed(const std::vector<std::string>& more) const {
    std::vector<std::string> pieces;
    for (int32_t token = kPieces; token-- > 0;) pieces.push_back(tokenizer_->Piece(token));
    pieces.insert(pieces.end(), more.begin(), more.end());
    return pieces;
  }
  static std::string Json(const std::vector<std::string>& pieces) {
    std::string json;
    for (const std::string& piece : pieces) {
      json += json.empty() ? "[\"" : ",\n\"";
      for (const char c : piece) json += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
      json += '"';
    }
    return json + "]\n";
  }
  static std::vector<int32_t> Mirrored(std::vector<int32_t> tokens) {
    for (int32_t& token : tokens) token = kPieces - 1 - token;
    return tokens;
  }
  static constexpr SpecialTokens kMirrored = {.pad = 319, .unknown = 318, .begin = 317, .end = 316, .separator = -1};
};

TEST_F(ListedPiecesTest, TokensArePlacesInTheList) {
  Write("vocabulary.json", Json(Reversed({"\xE2\x96\x81more"})));
  const auto loaded = LoadTokenizers(folder_, Spec(321, kMirrored));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->source, loaded->target);
  for (const char* text : {"The old house stands at the river.", "Größe 学校 😀", ""}) {
    const std::vector<int32_t> tokens = loaded->source->Encode(text);
    EXPECT_EQ(tokens, Mirrored(tokenizer_->Encode(text)));
    EXPECT_EQ(loaded->target->Decode(tokens), text);
  }
  EXPECT_EQ(loaded->target->Decode({320, 320}), "more more");
  EXPECT_EQ(loaded->target->Piece(320), "\xE2\x96\x81more");
  EXPECT_EQ(loaded->target->Piece(321), "");
  std::vector<int32_t> tokens = loaded->target->Encode("house");
  tokens.insert(tokens.begin(), {317, 319, 318, -1, 321});
  tokens.push_back(316);
  EXPECT_EQ(loaded->target->Decode(tokens), "house");
  EXPECT_EQ(loaded->target->Decode({kPieces - 1 - 4 - 0xE3}), "\xEF\xBF\xBD") << "a byte that is no character";
}

TEST_F(ListedPiecesTest, APieceThatTheListLacksIsUnknown) {
  std::vector<std::string> pieces = Reversed({});
  const std::vector<int32_t> tokens = tokenizer_->Encode("The house");
  for (const int32_t token : tokens) pieces[kPieces - 1 - token] = "other" + std::to_string(token);
  Write("vocabulary.json", Json(pieces));
  const auto loaded = LoadTokenizers(folder_, Spec(kPieces, kMirrored));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->source->Encode("The house"), ::testing::Each(318));
}

// The list may have pieces that the SentencePiece model does not have.
TEST_F(ListedPiecesTest, TextThatIsUnknownToTheModelIsLookedUp) {
  ASSERT_EQ(TrainTinyTokenizer(path_, {.vocab_size = 60, .byte_fallback = false}), "");
  Write("vocabulary.json", Json({"<pad>", "<unk>", "<s>", "</s>", "\xE2\x96\x81", "学校", "a"}));
  const auto loaded = LoadTokenizers(folder_, Spec(7, {.separator = -1}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->source->Encode("学校 学"), std::vector<int32_t>({4, 5, 4, 1}));
}

TEST_F(ListedPiecesTest, BothSidesMayHaveTheirOwn) {
  Write("source_vocabulary.json", Json(Reversed({})));
  Write("vocabulary.json", Json({"<pad>", "<unk>", "<s>", "</s>", "\xE2\x96\x81", "Haus", "h", "a", "u", "s"}));
  TokenizerSpec spec = {.source_size = kPieces, .target_size = 10, .special = {.begin = 0, .separator = -1}};
  auto loaded = LoadTokenizers(folder_, spec);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->source->Encode("house"), Mirrored(tokenizer_->Encode("house")));
  EXPECT_EQ(loaded->target->Decode({4, 5, 4, 6, 7, 8, 9, 3}), "Haus haus");

  // The numbers of languages with which only the source begins are ordinary pieces of the target.
  spec.source_languages = {5, Mirrored(tokenizer_->Encode("house")).front()};
  loaded = LoadTokenizers(folder_, spec);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->source->Encode("house").front(), spec.special.unknown);
  EXPECT_TRUE(loaded->target->IsWritten(5));
  EXPECT_EQ(loaded->target->Decode({4, 5, 4, 6, 7, 8, 9, 3}), "Haus haus");
  spec.source_languages.clear();
  spec.target_languages = {5};
  loaded = LoadTokenizers(folder_, spec);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_FALSE(loaded->target->IsWritten(5));
  EXPECT_EQ(loaded->target->Decode({4, 5, 4, 6, 7, 8, 9, 3}), " haus");
  spec.target_languages.clear();

  // If the target has a model of its own, that one tokenizes its text.
  ASSERT_EQ(TrainTinyTokenizer(folder_ + "/target_tokenizer.model",
                               {.vocab_size = 60, .model_type = "bpe", .byte_fallback = false}),
            "");
  loaded = LoadTokenizers(folder_, spec);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->source->Encode("house"), Mirrored(tokenizer_->Encode("house")));
  EXPECT_NE(loaded->target->Encode("house"), loaded->source->Encode("house"));
  Write("target_tokenizer.model", "no model");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("target_tokenizer.model is not a SentencePiece model"));
}

TEST_F(ListedPiecesTest, NoTextSpellsASpecialToken) {
  std::vector<std::string> pieces = Reversed({});
  std::swap(pieces[316], pieces[kPieces - 1 - tokenizer_->Encode("river")[0]]);  // the end is an ordinary piece
  Write("vocabulary.json", Json(pieces));
  const auto loaded = LoadTokenizers(folder_, Spec(kPieces, kMirrored));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->source->Encode("river river"), ::testing::Not(::testing::Contains(316)));
}

TEST_F(ListedPiecesTest, DamagedListsAreRefused) {
  std::string objects;  // in as few bytes as a text may have for so many
  for (int i = 0; i < 1100000; ++i) objects += "{},";
  for (const auto& [json, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "is empty"},
           {"{}", "is not an array of 3 pieces"},
           {"[\"a\",\"b\"]", "is not an array of 3 pieces"},
           {"[\"a\",\"b\",3]", "piece 2 is 3; it must be a string of at most 512 bytes"},
           {"[\"a\",\"b\",\"" + std::string(513, 'x') + "\"]", "piece 2"},
           {"[\"a\",\"b\",\"\xFF\"]", "vocabulary.json"},
           {"[\"a\",", "vocabulary.json"},
           {"[" + objects + "{}]", "vocabulary.json has more than 1100000 values"}}) {
    Write("vocabulary.json", json);
    EXPECT_THAT(ErrorOf(Spec(3, {.separator = -1})), HasSubstr(why));
  }
}

// Damaged models must not crash: they are refused, or load and encode text somehow.
class DamagedTokenizerTest : public TokenizerTest {
 protected:
  void TryDamaged(const std::string& bytes) {
    Write("tokenizer.model", bytes);
    const auto loaded = LoadTokenizers(folder_, Spec());
    if (!loaded.ok()) return;
    ++usable_;
    const std::vector<int32_t> tokens = loaded->source->Encode("The old ｈｏｕｓｅ, ﬁne & Größe <sep> 学 x.");
    EXPECT_FALSE(std::any_of(tokens.begin(), tokens.end(), IsSpecial));
    loaded->target->Decode(tokens);
  }
  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  int usable_ = 0;
};

TEST_F(DamagedTokenizerTest, CutOff) {
  const std::string whole = Bytes();
  for (size_t size = 0; size < whole.size(); size += 37) TryDamaged(whole.substr(0, size));
  EXPECT_EQ(usable_, 0);
}

TEST_F(DamagedTokenizerTest, BitsFlipped) {
  for (const char* type : {"unigram", "bpe"}) {
    ASSERT_EQ(TrainTinyTokenizer(path_, {.normalization = "nmt_nfkc", .model_type = type}), "");
    const std::string whole = Bytes();
    std::mt19937 random(3);
    for (int i = 0; i < 150; ++i) {
      std::string damaged = whole;
      for (int flips = 0; flips < 1 + i % 50; ++flips) damaged[random() % damaged.size()] ^= 1 << random() % 8;
      TryDamaged(damaged);
    }
  }
}

// The weights of the bundled model were trained with these tokens, so they must never change for any text.
TEST(BundledTokenizerTest, TokensStayWhatTheyWere) {
  const auto loaded = LoadTokenizers("models/en-pt", Spec(32291));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Tokenizer& tokenizer = *loaded->source;
  using Tokens = std::vector<int32_t>;
  EXPECT_EQ(tokenizer.Encode("The old house stands at the river."),
            Tokens({329, 2024, 1568, 13131, 360, 297, 6137, 294}));
  EXPECT_EQ(tokenizer.Encode("ﬁne ｈｏ Ⅷ"), Tokens({5415, 9141, 17665}));
  EXPECT_EQ(tokenizer.Encode("  <sep> </s>\t▁x "), Tokens({304, 65, 296, 4721, 4745, 304, 65, 373, 296, 4745, 1395}));

  TokenDigest tokens, texts;
  size_t count = 0;
  for (const std::string& text : RegressionTexts(20000)) {
    const Tokens made = tokenizer.Encode(text);
    count += made.size();
    tokens.Add(made);
    const std::string decoded = tokenizer.Decode(made);
    texts.Add({decoded.begin(), decoded.end()});
  }
  EXPECT_EQ(count, 1718429u);
  EXPECT_EQ(tokens.value(), 0xcbcceb0eab70bcb2u);
  EXPECT_EQ(texts.value(), 0x21a06ac6c5972b98u);
}

}  // namespace
}  // namespace salient

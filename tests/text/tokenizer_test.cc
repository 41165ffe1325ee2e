#include "engine/text/tokenizer.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/tiny_tokenizer.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

constexpr int kPieces = 320;
constexpr SpecialTokens kSpecial;

std::string TempPath(const std::string& name) {
  return ::testing::TempDir() + "salient_tokenizer_test_" +
         ::testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid()) + "_" + name;
}

class TokenizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = TempPath("tokenizer.model");
    ASSERT_EQ(TrainTinyTokenizer(path_), "");
    auto loaded = Tokenizer::Load(path_, kPieces, kSpecial);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    tokenizer_ = *std::move(loaded);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
  std::unique_ptr<Tokenizer> tokenizer_;
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
    std::string text = "x";  // neither end may be a space, as with segments; runs of spaces are one
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
  tokens.insert(tokens.end(), {-1, kPieces, 1 << 30});  // not even tokens
  EXPECT_EQ(tokenizer_->Decode(tokens), text);
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
  const auto message = [&](int32_t vocab_size, const SpecialTokens& special) {
    const auto loaded = Tokenizer::Load(path_, vocab_size, special);
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(loaded.status().message());
  };
  EXPECT_THAT(message(321, kSpecial), HasSubstr("has 320 pieces; config.json says vocab_size 321"));
  EXPECT_THAT(message(kPieces, {.pad = 1, .unknown = 0}),
              HasSubstr("has the pad token at 0; config.json says tokens.pad 1"));
  EXPECT_THAT(message(kPieces, {.begin = 3, .end = 2}), HasSubstr("bos"));
  EXPECT_THAT(message(kPieces, {.separator = 5}), HasSubstr("has the separator token at 4"));
}

TEST_F(TokenizerTest, ASeparatorThatTextCanSpellIsRefused) {
  TinyTokenizerOptions options;
  options.separator_in_text = true;
  ASSERT_EQ(TrainTinyTokenizer(path_, options), "");
  const auto loaded = Tokenizer::Load(path_, kPieces, kSpecial);
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("must be a control symbol"));
}

TEST_F(TokenizerTest, ModelsWithNormalizationLoad) {
  TinyTokenizerOptions options;
  options.normalization = "nmt_nfkc";
  ASSERT_EQ(TrainTinyTokenizer(path_, options), "");
  const auto loaded = Tokenizer::Load(path_, kPieces, kSpecial);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->Decode((*loaded)->Encode("ｈｏｕｓｅ")), "house");
}

TEST_F(TokenizerTest, FilesThatAreNoModel) {
  EXPECT_EQ(Tokenizer::Load(TempPath("missing"), kPieces, kSpecial).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Tokenizer::Load(::testing::TempDir(), kPieces, kSpecial).status().code(), absl::StatusCode::kNotFound);
  for (const std::string& bytes : {std::string(), std::string("no model"), std::string(1000, '\0')}) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const auto loaded = Tokenizer::Load(path_, kPieces, kSpecial);
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(loaded.status().message()), HasSubstr(path_));
  }
}

// Damaged models must not crash: they are refused, or load and encode something.
class DamagedTokenizerTest : public TokenizerTest {
 protected:
  void TryDamaged(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const auto loaded = Tokenizer::Load(path_, kPieces, kSpecial);
    if (!loaded.ok()) return;
    ++usable_;
    const std::vector<int32_t> tokens = (*loaded)->Encode("The old ｈｏｕｓｅ, ﬁne & Größe <sep> 学 x.");
    EXPECT_FALSE(std::any_of(tokens.begin(), tokens.end(), IsSpecial));
    (*loaded)->Decode(tokens);
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
  TinyTokenizerOptions options;
  options.normalization = "nmt_nfkc";
  ASSERT_EQ(TrainTinyTokenizer(path_, options), "");
  const std::string whole = Bytes();
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole;
    for (int flips = 0; flips < 1 + i % 50; ++flips) damaged[random() % damaged.size()] ^= 1 << random() % 8;
    TryDamaged(damaged);
  }
}

}  // namespace
}  // namespace salient

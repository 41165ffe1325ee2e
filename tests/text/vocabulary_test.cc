#include "engine/text/vocabulary.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/tiny_tokenizer.h"

namespace salient {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class VocabularyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "salient_vocabulary_test" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    ASSERT_EQ(TrainTinyTokenizer(folder_ + "/tokenizer.model"), "");
    model_ = *LoadSentencePiece(folder_ + "/tokenizer.model");
    for (int i = 0; i < model_->size(); ++i) pieces_.push_back(model_->Piece(i));
    config_.vocab_size = config_.source_vocab_size = static_cast<int32_t>(pieces_.size());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::vector<std::string>& pieces) {
    std::ofstream(folder_ + "/" + name) << nlohmann::json(pieces).dump();
  }
  // The pieces from the last to the first, special tokens aside, and `more` at the end.
  std::vector<std::string> Reversed(const std::vector<std::string>& more = {}) {
    std::vector<std::string> pieces(pieces_.begin(), pieces_.begin() + 5);
    pieces.insert(pieces.end(), pieces_.rbegin(), pieces_.rend() - 5);
    pieces.insert(pieces.end(), more.begin(), more.end());
    return pieces;
  }
  std::string Error() {
    const auto loaded = LoadTokenizer(folder_, config_);
    return loaded.ok() ? "" : std::string(loaded.status().message());
  }

  std::string folder_;
  std::unique_ptr<SentencePiece> model_;
  std::vector<std::string> pieces_;
  ModelConfig config_;
};

TEST_F(VocabularyTest, WithoutAVocabularyTokensAreTheModelsOwn) {
  const auto tokenizer = LoadTokenizer(folder_, config_);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->Encode("The old house"), model_->Encode("The old house"));
}

TEST_F(VocabularyTest, SourceAndTargetHaveTheirOwn) {
  const std::vector<std::string> target = Reversed({"\xE2\x96\x81more"});
  Write("vocabulary.json", target);
  Write("source_vocabulary.json", pieces_);
  config_.has_source_vocabulary = true;
  config_.vocab_size = static_cast<int32_t>(target.size());
  const auto loaded = LoadTokenizer(folder_, config_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Tokenizer& tokenizer = **loaded;
  const std::string text = "The old house";
  const std::vector<int32_t> tokens = tokenizer.Encode(text), in_target = tokenizer.EncodeTarget(text);
  EXPECT_EQ(tokens, model_->Encode(text));
  ASSERT_EQ(tokens.size(), in_target.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(tokenizer.SourcePiece(tokens[i]), tokenizer.Piece(in_target[i]));
  }
  EXPECT_EQ(tokenizer.Decode(in_target), text);
  EXPECT_EQ(tokenizer.Decode({config_.vocab_size - 1, 1, 2, 3, -1, 1 << 20}), "more");
}

TEST_F(VocabularyTest, BytesBecomeTextAndBadOnesReplacements) {
  Write("vocabulary.json", Reversed({"<0xC3>", "<0xA4>"}));
  config_.vocab_size = config_.source_vocab_size = static_cast<int32_t>(pieces_.size()) + 2;
  const auto loaded = LoadTokenizer(folder_, config_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const int32_t last = config_.vocab_size - 1;
  EXPECT_EQ((*loaded)->Decode({last - 1, last}), "\xC3\xA4");
  EXPECT_EQ((*loaded)->Decode({last - 1}), "\xEF\xBF\xBD");
}

TEST_F(VocabularyTest, TextSpellsNoSpecialTokenAndNoLanguage) {
  std::vector<std::string> pieces = Reversed();
  Write("vocabulary.json", pieces);
  const auto plain = LoadTokenizer(folder_, config_);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const std::vector<int32_t> before = (*plain)->Encode("house");
  config_.languages.tokens["en"] = before.back();
  const auto loaded = LoadTokenizer(folder_, config_);
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT((*loaded)->Encode("house"), Each(Not(before.back())));
  for (const char* text : {"<s>", "</s>", "<pad>", "a<unk>"}) {
    EXPECT_THAT((*loaded)->Encode(text), Each(Not(::testing::AnyOf(0, 2, 3, 4)))) << text;
  }
}

TEST_F(VocabularyTest, ErrorsNameTheFile) {
  Write("vocabulary.json", {"a", "b"});
  EXPECT_THAT(Error(), HasSubstr("vocabulary.json: it has 2 pieces"));
  std::ofstream(folder_ + "/vocabulary.json") << "{}";
  EXPECT_THAT(Error(), HasSubstr("an array of pieces"));
  std::ofstream(folder_ + "/vocabulary.json") << "[1, 2";
  EXPECT_THAT(Error(), HasSubstr("vocabulary.json"));
  std::filesystem::remove(folder_ + "/vocabulary.json");
  config_.has_source_vocabulary = true;
  EXPECT_THAT(Error(), HasSubstr("source_vocab_size asks for it"));
}

}  // namespace
}  // namespace salient

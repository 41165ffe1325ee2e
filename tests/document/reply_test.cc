#include "engine/document/reply.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/listener.h"

namespace salient {
namespace {

using ::salient::testing::RecordingListener;
using ::testing::ElementsAre;

constexpr int32_t kLanguage = 10;

// Tokens are indices into a list of pieces; one of them names a language.
class Pieces : public Tokenizer {
 public:
  std::vector<int32_t> Encode(std::string_view) const override { return {}; }
  std::string Decode(const std::vector<int32_t>& tokens) const override {
    std::string text;
    for (const int32_t token : tokens) {
      if (!IsWritten(token)) continue;
      std::string piece = Piece(token);
      if (piece.starts_with("\u2581")) {
        piece.erase(0, 3);
        if (!text.empty()) text += ' ';
      }
      text += piece;
    }
    return text;
  }
  bool IsWritten(int32_t token) const override { return token != kLanguage; }
  std::string Piece(int32_t token) const override {
    static const std::vector<std::string> pieces = {"__de__",   "\u2581the", "\u2581house",          "\u2581das",
                                                    "\u2581Ha", "us",        "\u2028\u2029\u0085\n", "\u5bb6\u3002"};
    return pieces.at(token - kLanguage);
  }
};

// What the tokens of a translation of "the house" were made of, as the texts of both.
std::vector<std::string> Links(const TranslatedSegment& segment) {
  std::vector<std::string> links;
  for (const TokenLink& link : segment.alignment) {
    links.push_back(segment.source.substr(link.source_begin, link.source_end - link.source_begin) + " " +
                    segment.text.substr(link.target_begin, link.target_end - link.target_begin));
  }
  return links;
}

// The text of a segment that was translated in pieces, whose tokens are given.
std::string Joined(const std::vector<std::vector<int32_t>>& pieces) {
  Workers workers(1);
  Tokenizers tokenizers;
  tokenizers.source = tokenizers.target = std::make_shared<Pieces>();
  SegmentedDocument document;
  document.segments.push_back({.text = "the house"});
  std::vector<Chunk> chunks(1);
  std::vector<DecodedPiece> decoded;
  for (const std::vector<int32_t>& tokens : pieces) {
    chunks[0].pieces.push_back({.segment = 0});
    decoded.emplace_back();
    for (const int32_t token : tokens) decoded.back().tokens.push_back({.token = token, .exit_at = 1});
  }
  const auto listener = std::make_shared<RecordingListener>();
  const auto reply =
      std::make_shared<DocumentReply>(std::move(document), chunks, ResolvedOptions(), tokenizers, workers, listener);
  reply->TakePieces(0, 0, std::move(decoded));
  reply->Finish({});
  return listener->Wait().ok() ? listener->Wait()->text : listener->Wait().status().ToString();
}

TEST(DocumentReplyTest, PiecesOfASegmentAreJoinedAsTheirScriptIs) {
  EXPECT_EQ(Joined({{13}, {14, 15}}), "das Haus");
  EXPECT_EQ(Joined({{13}, {}, {14, 15}}), "das Haus");
  EXPECT_EQ(Joined({{17}, {17}, {13}}), "\u5bb6\u3002\u5bb6\u3002das");
}

TEST(DocumentReplyTest, ASegmentStaysOnOneLineWhateverTheModelWrites) {
  EXPECT_EQ(Joined({{13, 16, 15}}), "das    us");
}

TEST(DocumentReplyTest, TheTokenOfALanguageIsNoTextThatIsAligned) {
  Workers workers(1);
  Tokenizers tokenizers;
  tokenizers.source = tokenizers.target = std::make_shared<Pieces>();
  SegmentedDocument document;
  document.segments.push_back({.text = "the house"});
  const std::vector<Chunk> chunks = {{.tokens = {kLanguage, 11, 12, 3}, .pieces = {{.segment = 0, .tokens = 3}}}};
  ResolvedOptions options;
  options.alignment = true;
  const auto listener = std::make_shared<RecordingListener>();
  const auto reply = std::make_shared<DocumentReply>(std::move(document), chunks, options, tokenizers, workers,
                                                     listener, std::vector<int32_t>{kLanguage});
  DecodedPiece piece;
  for (const auto& [token, aligned] : {std::pair(kLanguage, 0), {13, 1}, {14, 2}, {15, 2}}) {
    piece.tokens.push_back({.token = token, .exit_at = 1, .aligned = aligned});
  }
  reply->TakePieces(0, 0, {piece});
  reply->Finish({});
  const absl::StatusOr<TranslationResult>& result = listener->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text, "das Haus");
  EXPECT_THAT(Links(result->segments[0]), ElementsAre("the das", "house Ha", "house us"));
}

}  // namespace
}  // namespace salient

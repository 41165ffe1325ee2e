#include "engine/text/token_spans.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace salient {
namespace {

// Tokens are indices into a list of pieces.
class Pieces : public Tokenizer {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  std::vector<int32_t> Encode(std::string_view) const override { return All(); }
  std::string Decode(const std::vector<int32_t>&) const override { return ""; }
  bool IsWritten(int32_t) const override { return true; }
  std::string Piece(int32_t token) const override { return pieces_[token]; }
  std::vector<int32_t> All() const {
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < pieces_.size(); ++i) tokens.push_back(static_cast<int32_t>(i));
    return tokens;
  }

 private:
  std::vector<std::string> pieces_;
};

std::vector<std::string> Spans(const std::vector<std::string>& pieces, const std::string& text) {
  const Pieces tokenizer(pieces);
  std::vector<std::string> found;
  for (const TokenSpan& span : TokenSpans(tokenizer, tokenizer.All(), text)) {
    EXPECT_LE(0, span.begin);
    EXPECT_LE(span.begin, span.end);
    EXPECT_LE(span.end, static_cast<int32_t>(text.size()));
    found.push_back(text.substr(span.begin, span.end - span.begin));
  }
  return found;
}

using Strings = std::vector<std::string>;

TEST(TokenSpansTest, PiecesStandInTheirText) {
  EXPECT_EQ(Spans({"▁The", "▁hou", "se", ".", "▁"}, "The house."), (Strings{"The", "hou", "se", ".", ""}));
}

TEST(TokenSpansTest, ABytesPieceIsOneByte) {
  EXPECT_EQ(Spans({"▁a", "<0xC3>", "<0xA9>", "b", "▁c"}, "aéb c"), (Strings{"a", "\xC3", "\xA9", "b", "c"}));
}

TEST(TokenSpansTest, SpacesMayDiffer) {
  EXPECT_EQ(Spans({"▁one", "▁two", "▁three"}, "one   two\t three"), (Strings{"one", "two", "three"}));
}

TEST(TokenSpansTest, WordsAreExactWhereNormalizationChangesOne) {
  EXPECT_EQ(Spans({"▁wait", "...", "▁here", "▁now"}, "wait… here now"), (Strings{"wait", "…", "here", "now"}));
  EXPECT_EQ(Spans({"▁ab", "c", "▁now"}, "abcdef now"), (Strings{"ab", "cdef", "now"}));
}

TEST(TokenSpansTest, OtherWordsAreWithinTheText) {
  Spans({"▁a", "▁b", "▁c", "▁d"}, "xyz");
  Spans({}, "xyz");
  Spans({"▁a", "bc"}, "");
}

}  // namespace
}  // namespace salient

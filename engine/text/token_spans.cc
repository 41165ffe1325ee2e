#include "engine/text/token_spans.h"

#include <algorithm>
#include <string>

namespace salient {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The words of a text, separated by white space.
std::vector<TokenSpan> WordSpans(std::string_view text) {
  std::vector<TokenSpan> words;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsSpace(text[i])) continue;
    if (i == 0 || IsSpace(text[i - 1])) words.push_back({static_cast<int32_t>(i), 0});
    words.back().end = static_cast<int32_t>(i) + 1;
  }
  return words;
}

// The text of a piece. A byte piece counts as one byte, "?".
std::string TextOf(std::string_view piece) { return ByteOf(piece).has_value() ? "?" : WithSpaces(piece); }

}  // namespace

std::vector<TokenSpan> TokenSpans(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens,
                                  std::string_view text) {
  std::string joined;
  std::vector<TokenSpan> spans;
  for (const int32_t token : tokens) {
    const std::string piece = TextOf(tokenizer.Piece(token));
    const size_t spaces = std::min(piece.find_first_not_of(' '), piece.size());
    spans.push_back({static_cast<int32_t>(joined.size() + spaces), static_cast<int32_t>(joined.size() + piece.size())});
    joined += piece;
  }
  const std::vector<TokenSpan> from = WordSpans(joined), to = WordSpans(text);
  const auto size = static_cast<int32_t>(text.size());
  const double scale = joined.empty() ? 0 : static_cast<double>(size) / static_cast<double>(joined.size());
  const auto moved = [&](int32_t at, bool is_end) {
    if (from.size() != to.size()) return std::min(size, static_cast<int32_t>(scale * at));
    // The word that contains the byte. The end of a span belongs to the byte before it.
    const auto word = std::upper_bound(from.begin(), from.end(), is_end ? at - 1 : at,
                                       [](int32_t byte, const TokenSpan& span) { return byte < span.begin; });
    if (word == from.begin()) return 0;
    const TokenSpan &source = *(word - 1), &target = to[word - 1 - from.begin()];
    if (is_end && at >= source.end) return target.end;
    return std::min(target.begin + at - source.begin, target.end);
  };
  for (TokenSpan& span : spans) {
    span = span.begin == span.end ? TokenSpan{} : TokenSpan{moved(span.begin, false), moved(span.end, true)};
    span.end = std::max(span.begin, span.end);
  }
  return spans;
}

}  // namespace salient

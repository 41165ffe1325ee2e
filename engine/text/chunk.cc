#include "engine/text/chunk.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr std::string_view kWordStart = "\xE2\x96\x81";  // U+2581, SentencePiece's mark of a space before the piece
constexpr int32_t kLeastTokens = 8;

// A segment, or a part of one that is longer than a chunk.
struct Unit {
  int32_t segment = 0;
  std::vector<int32_t> tokens;
  bool starts_paragraph = false;

  int32_t size() const { return static_cast<int32_t>(tokens.size()) + 1; }  // with the separator or end that follows
};

// True for a byte piece that is not the first byte of its character.
bool PieceContinuesCharacter(std::string_view piece) {
  const std::optional<char> byte = ByteOf(piece);
  return byte.has_value() && ContinuesCharacter(*byte);
}

// The end of a part that begins at `from` and has at most `most` tokens: before a word, or else before a character.
size_t CutPoint(const std::vector<int32_t>& tokens, size_t from, size_t most, const Tokenizer& tokenizer) {
  const size_t end = from + most;
  if (end >= tokens.size()) return tokens.size();
  for (size_t cut = end; cut > from; --cut) {
    if (tokenizer.Piece(tokens[cut]).starts_with(kWordStart)) return cut;
  }
  for (size_t cut = end; cut > from; --cut) {
    if (!PieceContinuesCharacter(tokenizer.Piece(tokens[cut]))) return cut;
  }
  return end;
}

// The part of `text` to tokenize at once: it ends before a space, or else before a character. Never empty.
std::string_view NextPortion(std::string_view text) {
  if (text.size() <= kPortionBytes) return text;
  const size_t space = text.rfind(' ', kPortionBytes);
  if (space != std::string_view::npos && space > 0) return text.substr(0, space);
  return Utf8Prefix(text, kPortionBytes);
}

std::vector<Unit> MakeUnits(const SegmentedDocument& document, const Tokenizer& tokenizer, int32_t max_tokens) {
  std::vector<Unit> units;
  for (size_t i = 0; i < document.segments.size(); ++i) {
    const Segment& segment = document.segments[i];
    Unit unit{static_cast<int32_t>(i), {}, segment.starts_paragraph};
    const std::string text = Substituted(segment.text, segment.substitutions);
    std::string_view rest = text;
    do {
      const std::string_view portion = NextPortion(rest);
      rest.remove_prefix(portion.size());
      const std::vector<int32_t> tokens = tokenizer.Encode(portion);
      const bool only = rest.empty() && (units.empty() || units.back().segment != unit.segment);
      if (tokens.empty() && !only) continue;
      size_t from = 0;
      do {
        const size_t to = CutPoint(tokens, from, max_tokens - 1, tokenizer);
        unit.tokens.assign(tokens.begin() + from, tokens.begin() + to);
        units.push_back(unit);
        unit.starts_paragraph = false;
        from = to;
      } while (from < tokens.size());
    } while (!rest.empty());
  }
  return units;
}

// The end of the chunk whose first unit is `first`.
size_t ChunkEnd(const std::vector<Unit>& units, size_t first, int32_t max_tokens) {
  size_t end = first;
  size_t paragraph = 0;  // the last paragraph before which the chunk may end; 0: none
  int32_t used = 0;
  while (end < units.size() && used + units[end].size() <= max_tokens) {
    if (end > first && units[end].starts_paragraph && 2 * used >= max_tokens) paragraph = end;
    used += units[end].size();
    ++end;
  }
  if (end == units.size() || units[end].starts_paragraph || paragraph == 0) return end;
  return paragraph;
}

Chunk MakeChunk(const std::vector<Unit>& units, size_t first, size_t end, const SpecialTokens& special,
                const std::vector<int32_t>& prefix) {
  Chunk chunk;
  chunk.tokens = prefix;
  for (size_t i = first; i < end; ++i) {
    const Unit& unit = units[i];
    chunk.tokens.insert(chunk.tokens.end(), unit.tokens.begin(), unit.tokens.end());
    if (i + 1 < end) {
      chunk.tokens.push_back(special.separator);
    } else if (special.source_end || unit.tokens.empty()) {
      chunk.tokens.push_back(special.end);
    }
    chunk.pieces.push_back({unit.segment, unit.size() - 1});
    NoteMarkers(unit.tokens, special, &chunk.pieces.back());
  }
  chunk.pieces.front().tokens += static_cast<int32_t>(prefix.size());
  return chunk;
}

}  // namespace

void NoteMarkers(const std::vector<int32_t>& tokens, const SpecialTokens& special, Piece* piece) {
  for (const int32_t token : tokens) {
    const int32_t marker = special.MarkerOf(token);
    if (marker < 0) continue;
    const uint32_t bit = uint32_t{1} << marker;
    if (marker % 2 == 1 && (piece->markers & bit) == 0) piece->closing |= (piece->markers & bit >> 1) << 1;
    piece->markers |= bit;
  }
}

std::vector<Chunk> MakeChunks(const SegmentedDocument& document, const Tokenizer& tokenizer,
                              const SpecialTokens& special, int32_t max_tokens, const std::vector<int32_t>& prefix) {
  max_tokens = std::max(max_tokens - static_cast<int32_t>(prefix.size()), kLeastTokens);
  const std::vector<Unit> units = MakeUnits(document, tokenizer, max_tokens);
  std::vector<Chunk> chunks;
  for (size_t first = 0; first < units.size();) {
    const size_t end = special.has_separator() ? ChunkEnd(units, first, max_tokens) : first + 1;
    chunks.push_back(MakeChunk(units, first, end, special, prefix));
    first = end;
  }
  return chunks;
}

}  // namespace salient

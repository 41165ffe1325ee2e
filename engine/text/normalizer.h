// What SentencePiece does to a text before it looks for pieces: replaces characters by the model's map, such as NFKC,
// drops superfluous spaces, puts one in front, and writes spaces as U+2581.
//
// The map ("precompiled charsmap") is a double-array trie (the format of Darts-clone: 32-bit units) over the byte
// strings to be replaced, whose values are offsets into a block of NUL-terminated replacements. The longest match at
// each place is taken. Every index is checked, so that a damaged map matches nothing instead of reading elsewhere.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/piece_trie.h"
#include "engine/text/sentencepiece_model.h"

namespace salient {

// U+2581, a space within a piece.
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

class Normalizer {
 public:
  // `model` outlives the normalizer. `user_defined` holds the pieces that are left as they are.
  Normalizer(const SentencePieceModel& model, const PieceTrie& user_defined);

  // Whether the map could be read.
  bool ok() const { return ok_; }

  std::string Normalize(std::string_view text) const;

 private:
  struct Step {
    std::string_view text;  // what the next characters become
    size_t consumed;
  };

  bool ReadCharsmap(std::string_view blob);
  Step Next(std::string_view text) const;
  bool LongestMatch(std::string_view text, Step& step) const;

  const SentencePieceModel& model_;
  const PieceTrie& user_defined_;
  std::vector<uint32_t> units_;
  std::string_view replacements_;
  bool ok_ = true;
};

// Length of the valid UTF-8 sequence that `text` begins with; 0 if it begins with none. `text` is not empty.
size_t CharacterLength(std::string_view text);

}  // namespace salient

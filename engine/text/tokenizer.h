// A vocabulary: text to tokens and back, as a model folder's files have it. Immutable and thread safe.
//
//   tokenizer.model           SentencePiece, cuts the source's text into pieces
//   target_tokenizer.model    cuts text of the target language, if that is not the same
//   vocabulary.json           the target's pieces in the order of their tokens, and the source's if it has none of its
//   own;
//                             without it tokens are the SentencePiece model's own numbers
//   source_vocabulary.json    the source's pieces
//
// A piece that the vocabulary lacks is the unknown token.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/core/special_tokens.h"

namespace salient {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Never yields a special token other than unknown, whatever the text spells.
  virtual std::vector<int32_t> Encode(std::string_view text) const = 0;
  // Special tokens are left out; bytes that make no character become U+FFFD.
  virtual std::string Decode(const std::vector<int32_t>& tokens) const = 0;
  // Empty for a number that is no token.
  virtual std::string Piece(int32_t token) const = 0;
};

// Of both sides of a model; the same object where they share one vocabulary.
struct Tokenizers {
  std::shared_ptr<const Tokenizer> source, target;
};

// What config.json says of them.
struct TokenizerSpec {
  int32_t source_size = 0, target_size = 0;
  SpecialTokens special;  // of both
};

// Reads the files of a model folder. INVALID_ARGUMENT, with the file, if one is damaged, or if its size or its special
// tokens differ from the spec's; NOT_FOUND if there is no tokenizer.model; FAILED_PRECONDITION without the library.
absl::StatusOr<Tokenizers> LoadTokenizers(const std::string& folder, const TokenizerSpec& spec);

}  // namespace salient

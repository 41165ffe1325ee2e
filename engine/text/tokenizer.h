// Converts text to the tokens of a model's vocabulary and back. Reads these files of a model folder:
//
//   tokenizer.model           SentencePiece model of the source language
//   target_tokenizer.model    SentencePiece model of the target language, if it differs
//   vocabulary.json           the pieces of the target in the order of their tokens, also those of the source if there
//                             is no source_vocabulary.json; without it, tokens are the SentencePiece model's numbers
//   source_vocabulary.json    the pieces of the source
//
// A piece that is not in the vocabulary becomes the unknown token. Immutable and thread safe.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/core/special_tokens.h"

namespace salient {

class Copier;

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Never returns a special token other than unknown, whatever the text contains.
  virtual std::vector<int32_t> Encode(std::string_view text) const = 0;
  // Special tokens are omitted; invalid bytes become U+FFFD.
  virtual std::string Decode(const std::vector<int32_t>& tokens) const = 0;
  // Whether Decode writes the token: not if it is special.
  virtual bool IsWritten(int32_t token) const = 0;
  // Empty for a number that is not a token.
  virtual std::string Piece(int32_t token) const = 0;
};

// The byte that a byte piece such as "<0x0A>" stands for; nullopt for other pieces.
std::optional<char> ByteOf(std::string_view piece);
// The text of a piece that stands for no byte: U+2581 is a space.
std::string WithSpaces(std::string_view piece);

// The tokenizers of both sides of a model, the same object if they share a vocabulary; and what keeps from it the
// characters that they do not know.
struct Tokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  std::shared_ptr<const Copier> copier;  // null: the model reads whatever its text has
};

// The fields of config.json that concern tokenizers.
struct TokenizerSpec {
  int32_t source_size = 0, target_size = 0;
  SpecialTokens special;                                    // of both
  std::vector<int32_t> source_languages, target_languages;  // tokens that name languages there; never part of text
};

// Reads the files of a model folder; makes no copier. INVALID_ARGUMENT, with the file, if one is damaged, or if its
// size or its special tokens differ from the spec's; NOT_FOUND if there is no tokenizer.model; FAILED_PRECONDITION
// without the library.
absl::StatusOr<Tokenizers> LoadTokenizers(const std::string& folder, const TokenizerSpec& spec);

}  // namespace salient

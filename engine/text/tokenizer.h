// SentencePiece, as a model folder's tokenizer.model has it. Thread safe.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/core/special_tokens.h"
#include "engine/text/sentencepiece.h"

namespace salient {

class Tokenizer {
 public:
  // INVALID_ARGUMENT if the file is no SentencePiece model, or its size or special tokens differ from the config's.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> Load(const std::string& path, int32_t vocab_size,
                                                         const SpecialTokens& special);
  virtual ~Tokenizer() = default;

  // Never yields a special token other than unknown, whatever the text spells.
  virtual std::vector<int32_t> Encode(std::string_view text) const = 0;
  // Special tokens are left out; invalid byte pieces become U+FFFD.
  virtual std::string Decode(const std::vector<int32_t>& tokens) const = 0;
  virtual std::string Piece(int32_t token) const = 0;

  // Of models whose source and target have tokens of their own: text of the target language, and the source's pieces.
  virtual std::vector<int32_t> EncodeTarget(std::string_view text) const { return Encode(text); }
  virtual std::string SourcePiece(int32_t token) const { return Piece(token); }
};

// A SentencePiece model. NOT_FOUND or INVALID_ARGUMENT names the file and what is wrong with it.
absl::StatusOr<std::unique_ptr<SentencePiece>> LoadSentencePiece(const std::string& path);
// A file of at most max_bytes that is not empty.
absl::StatusOr<std::string> ReadTokenizerFile(const std::string& path, uintmax_t max_bytes);

}  // namespace salient

// SentencePiece, as a model folder's tokenizer.model has it. Thread safe.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/search/candidates.h"

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
};

}  // namespace salient

// A model folder's tokens where they are not its SentencePiece model's own numbers: vocabularies of other toolkits.
//
//   tokenizer.model           cuts the source into pieces
//   target_tokenizer.model    cuts text of the target language, where that is another
//   vocabulary.json           the target's pieces in the order of their tokens, and the source's, unless there is
//   source_vocabulary.json    the source's pieces
//
// Without vocabulary.json tokens are tokenizer.model's numbers. A piece that the vocabulary lacks is the unknown token.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/model/config.h"
#include "engine/text/tokenizer.h"

namespace salient {

// The folder's tokenizer. NOT_FOUND or INVALID_ARGUMENT names the file and what is wrong with it.
absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const std::string& folder, const ModelConfig& config);

// A vocabulary's pieces: a JSON array of `size` strings. INVALID_ARGUMENT begins with `file`.
absl::StatusOr<std::vector<std::string>> ParseVocabulary(std::string_view json, const std::string& file, int32_t size);

}  // namespace salient

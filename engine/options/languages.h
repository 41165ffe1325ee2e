// Checks a request's languages against the model, and finds the language tokens of a model of several languages.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace salient {

struct ModelConfig;

struct LanguagePair {
  std::string source;                  // the language of the source, for splitting it into sentences
  std::vector<int32_t> source_prefix;  // tokens at the start of each chunk's source
  std::vector<int32_t> target_prefix;  // tokens that are forced at the start of each chunk's translation
};

// Empty names mean the model's only language. INVALID_ARGUMENT names the field and the available languages. For a model
// of one language pair the names are not checked: the caller has chosen the model by them.
absl::StatusOr<LanguagePair> ResolveLanguages(const std::string& source, const std::string& target,
                                              const ModelConfig& config);

}  // namespace salient

// A request's languages, checked against the model, and the tokens that tell a model of several what to do.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace salient {

struct ModelConfig;

struct LanguagePair {
  std::string source;                  // what the source is read as; for splitting it into sentences
  std::vector<int32_t> source_prefix;  // tokens that each chunk's source begins with
  std::vector<int32_t> target_prefix;  // tokens that each chunk's translation is made to begin with
};

// Whether a model of language `has` serves a request for `wants`: the same tag, or a narrower one, such as "en-GB" for
// "en" (RFC 4647, basic filtering), whatever the case. An empty wish is served by every model.
bool ServesLanguage(const std::string& has, const std::string& wants);

// Empty names stand for the model's only language. INVALID_ARGUMENT names the field and the languages that there are.
// What a model of one pair is asked for is not looked at: whoever chose the model has.
absl::StatusOr<LanguagePair> ResolveLanguages(const std::string& source, const std::string& target,
                                              const ModelConfig& config);

}  // namespace salient

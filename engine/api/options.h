// The options of a request: sparsity of the attention, depth of the decoder, search.
//
// These are the values of the request, unchecked; engine/options/resolve.h checks them against a model. Field names,
// meanings and ranges are those of the API (proto/salient/v1/translation.proto).

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/module.h"
#include "engine/api/policies.h"

namespace salient {

struct SelectionOptions {
  std::optional<SelectionPolicy> policy;  // none: learned if the model was trained for it, otherwise dense
  std::optional<double> value;            // for every module without a value in module_value
  std::array<std::optional<double>, kModules> module_value;
  std::optional<int32_t> min_keys;
};

struct DepthOptions {
  std::optional<DepthPolicy> policy;  // none: full
  std::optional<int32_t> fixed_exit;
  std::vector<double> thresholds;  // empty, one for all layers, or one for each layer
  std::optional<int32_t> min_exit, max_exit;
  std::optional<int32_t> draft_exit, draft_tokens;
};

struct SearchOptions {
  std::optional<int32_t> beam;
  std::optional<double> length_penalty;
  std::optional<double> max_length_ratio;
  std::optional<int32_t> n_best;
  std::string prefix;
  // Restricts the output to the tokens of the chunk's shortlist (engine/model/shortlist.h). If the best token of every
  // step is in the list, the greedy translation does not change; log probabilities and confidence are over the list.
  // Default: false, because it is not known in advance whether the translation changes.
  std::optional<bool> shortlist;
  // With a beam: no sequence of so many tokens is written twice in a segment, as long as there is another choice.
  std::optional<int32_t> no_repeat;
};

// The policies that a model can serve.
struct SupportedPolicies {
  std::vector<SelectionPolicy> selection;
  std::vector<DepthPolicy> depth;
};

struct TranslationOptions {
  SelectionOptions selection;
  DepthOptions depth;
  SearchOptions search;
  bool trace = false;
  // Which source token each target token was made of: that of its segment with the greatest attention, the mean of the
  // heads of one layer's cross-attention (ModelConfig::alignment_layer). None for a token that left before that layer.
  bool alignment = false;
};

}  // namespace salient

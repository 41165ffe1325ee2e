// What a request may choose: how sparse the attention, how deep the decoder, how wide the search.
//
// TranslationOptions is what was asked; Resolve checks it against a model once, at the door, and fills in defaults.
// What it returns is immutable and is all that the layers below see of a request's wishes.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/attention/keys.h"
#include "engine/depth/exit.h"

namespace salient {

struct ModelConfig;

enum class Module { kEncoder, kDecoder, kCross };  // encoder self-, decoder self-, cross-attention
inline constexpr int kModules = 3;
inline constexpr const char* ModuleName(Module module) {
  return module == Module::kEncoder ? "encoder" : module == Module::kDecoder ? "decoder" : "cross";
}

enum class SelectionPolicy { kDense, kLearned, kRatio, kMass, kWindow };

struct SelectionOptions {
  std::optional<SelectionPolicy> policy;  // none: learned where the model was trained for it, else dense
  std::optional<double> value;            // for every module without its own
  std::array<std::optional<double>, kModules> module_value;
  std::optional<int32_t> min_keys;
};

enum class DepthPolicy { kFull, kFixed, kSequence, kMultinomial, kGeometric, kConfidence, kVerify };

struct DepthOptions {
  std::optional<DepthPolicy> policy;  // none: full
  std::optional<int32_t> fixed_exit;
  std::vector<double> thresholds;  // none, one for all, or one a layer
  std::optional<int32_t> min_exit, max_exit;
  std::optional<int32_t> draft_exit, draft_tokens;
};

struct SearchOptions {
  std::optional<int32_t> beam;
  std::optional<double> length_penalty;
  std::optional<double> max_length_ratio;
  std::optional<int32_t> n_best;
  std::string prefix;
  // Only tokens of the window's shortlist (engine/model/shortlist.h). The same translation as without wherever the best
  // token of every step is in the list, with log probabilities, and confidence, over the list. None: false, because
  // nobody knows beforehand that it is.
  std::optional<bool> shortlist;
};

struct TranslationOptions {
  SelectionOptions selection;
  DepthOptions depth;
  SearchOptions search;
  bool trace = false;
};

inline constexpr int32_t kMaxDraftTokens = 16;

// Options with every default filled in and every value checked, in the form that kernels read.
struct ResolvedOptions {
  TranslationOptions used;  // as asked, with defaults filled in: what a reply reports back

  // One rule a selection layer of each module; a single kAll rule for a model without selection.
  std::array<std::vector<SelectionRule>, kModules> selection;
  ExitRule exit;
  int32_t draft_tokens = 0;  // that are guessed ahead at most and then verified; 0: none
  ExitRule draft_exit;       // how a guess leaves the decoder
  int32_t beam = 1;
  double length_penalty = 1.0;
  double max_length_ratio = 3.0;
  int32_t n_best = 1;
  bool shortlist = false;
  bool trace = false;
};

// INVALID_ARGUMENT names the field as the API spells it, such as "selection.value", the value and the allowed range.
absl::StatusOr<ResolvedOptions> Resolve(const TranslationOptions& options, const ModelConfig& config);

}  // namespace salient

// A request's options, checked against a model.
//
// TranslationOptions (engine/api/options.h) has the values of the request. Resolve checks them once, when the request
// arrives, and fills in the defaults. ResolvedOptions is immutable. The layers below see only ResolvedOptions.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/api/options.h"
#include "engine/core/keys.h"
#include "engine/depth/exit.h"

namespace salient {

struct ModelConfig;

inline constexpr int32_t kMaxDraftTokens = 16;

// Options with every default filled in and every value checked, in the form that kernels read.
struct ResolvedOptions {
  TranslationOptions used;  // as requested, with defaults filled in; reported in the reply

  // One rule for each selection layer of each module; one for a model without, kDense or kWindow.
  std::array<std::vector<SelectionRule>, kModules> selection;
  ExitRule exit;
  int32_t draft_tokens = 0;  // the most tokens that are drafted before they are verified; 0: none
  ExitRule draft_exit;       // the exit of drafts
  int32_t beam = 1;
  double length_penalty = 1.0;
  double max_length_ratio = 3.0;
  int32_t n_best = 1;
  bool shortlist = false;
  int32_t no_repeat = 0;  // 0: tokens may repeat
  bool trace = false, alignment = false;
};

// INVALID_ARGUMENT names the field as the API spells it, such as "selection.value", the value and the allowed range.
absl::StatusOr<ResolvedOptions> Resolve(const TranslationOptions& options, const ModelConfig& config);

// The policies that Resolve accepts for the model, with values that are valid for them.
SupportedPolicies PoliciesOf(const ModelConfig& config);

}  // namespace salient

#include "engine/options/resolve.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/utf8.h"
#include "engine/model/config.h"
#include "engine/search/rules.h"

namespace salient {
namespace {

constexpr int32_t kDefaultBeam = 1;
constexpr double kDefaultLengthRatio = 3.0, kMaxLengthRatio = 20.0;
constexpr int32_t kDefaultDraftTokens = 4;
constexpr double kMaxWindow = 1 << 24;  // the greatest whole number up to which a float has all
constexpr size_t kMaxPrefixBytes = 4096;
constexpr int32_t kMaxNoRepeat = 64;

// As the API spells it.
template <typename Policy>
std::string PolicyName(Policy policy) {
  return absl::AsciiStrToUpper(InfoOf(policy).name);
}

template <typename Value>
absl::Status Bad(absl::string_view field, const Value& value, absl::string_view must) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; ", must));
}

template <typename Policy>
absl::Status HasNoMeaning(absl::string_view field, Policy policy) {
  return absl::InvalidArgumentError(absl::StrCat(field, " has no meaning with ", PolicyName(policy), "; leave it out"));
}

absl::Status CheckRange(absl::string_view field, int32_t value, int32_t least, int32_t greatest) {
  if (value >= least && value <= greatest) return absl::OkStatus();
  return Bad(field, value, absl::StrCat("it must be from ", least, " to ", greatest));
}

// ---- Selection ----

// "selection.value" for the value of all modules, else "selection.encoder_value" and so on.
std::string ValueField(int module) {
  return module < 0 ? "selection.value" : absl::StrCat("selection.", ModuleName(static_cast<Module>(module)), "_value");
}

absl::Status CheckValue(SelectionPolicy policy, int module, double value) {
  if (InfoOf(policy).value == SelectionValue::kKeys) {
    if (value >= 1 && value <= kMaxWindow && value == std::floor(value)) return absl::OkStatus();
    return Bad(
        ValueField(module), value,
        absl::StrCat(PolicyName(policy), " needs a whole number of keys from 1 to ", static_cast<int64_t>(kMaxWindow)));
  }
  if (value > 0 && value <= 1) return absl::OkStatus();
  return Bad(ValueField(module), value, absl::StrCat(PolicyName(policy), " needs a ratio in (0, 1]"));
}

bool IsLearned(const ModelConfig& config) {
  if (!config.has_selection) return false;
  for (int module = 0; module < kModules; ++module) {
    const auto learned = static_cast<int32_t>(config.selection.learned_ratio[module].size());
    if (learned != config.groups(static_cast<Module>(module))) return false;
  }
  return true;
}

// What the model lacks to be translated with under a policy; null if nothing.
const char* Lack(SelectionPolicy policy, const ModelConfig& config) {
  const SelectionPolicyInfo& info = InfoOf(policy);
  if (info.needs_layers && !config.has_selection) return "no selection layers";
  if (info.needs_ratios && !IsLearned(config)) return "no learned ratio of keys";
  return nullptr;
}

const char* Lack(DepthPolicy policy, const ModelConfig& config) {
  if (policy == DepthPolicy::kFull) return nullptr;
  if (!config.has_exits) return "no exits below its last layer";
  if (InfoOf(policy).values == DepthValues::kDrafts && config.decoder.layers < 2) return "no layer to draft with";
  static constexpr char kNoHead[] = "no halting head for it";
  switch (InfoOf(policy).signal) {
    case ExitSignal::kSequenceHead:
      return config.sequence_head ? nullptr : kNoHead;
    case ExitSignal::kMultinomialHead:
      return config.multinomial_head ? nullptr : kNoHead;
    case ExitSignal::kGeometricHead:
      return config.geometric_head ? nullptr : kNoHead;
    case ExitSignal::kNone:
    case ExitSignal::kConfidence:
      break;
  }
  return nullptr;
}

template <typename Info, size_t kCount>
auto PoliciesFor(const std::array<Info, kCount>& table, const ModelConfig& config) {
  std::vector<decltype(Info::policy)> policies;
  for (const Info& info : table) {
    if (Lack(info.policy, config) == nullptr) policies.push_back(info.policy);
  }
  return policies;
}

// `field`: "selection.policy" or "depth.policy".
template <typename Info, size_t kCount>
absl::Status CheckTrained(absl::string_view field, const std::array<Info, kCount>& table, decltype(Info::policy) policy,
                          const ModelConfig& config) {
  const char* lack = Lack(policy, config);
  if (lack == nullptr) return absl::OkStatus();
  const std::string others = absl::StrJoin(PoliciesFor(table, config), ", ",
                                           [](std::string* out, auto known) { out->append(PolicyName(known)); });
  return Bad(field, PolicyName(policy), absl::StrCat("the model ", config.name, " has ", lack, "; it can be ", others));
}

absl::Status CheckValues(const SelectionOptions& options, SelectionPolicy policy) {
  const bool takes_value = InfoOf(policy).value != SelectionValue::kNone;
  for (int module = -1; module < kModules; ++module) {
    const std::optional<double>& value = module < 0 ? options.value : options.module_value[module];
    if (!value.has_value()) continue;
    if (!takes_value) return HasNoMeaning(ValueField(module), policy);
    if (absl::Status status = CheckValue(policy, module, *value); !status.ok()) return status;
  }
  for (int module = 0; takes_value && !options.value.has_value() && module < kModules; ++module) {
    if (!options.module_value[module].has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("selection.value is missing; ", PolicyName(policy), " needs ",
                                                     "it, or a value for each of encoder, decoder and cross"));
    }
  }
  return absl::OkStatus();
}

SelectionRule RuleOf(const SelectionOptions& options, const ModelConfig& config, int module, int32_t group) {
  SelectionRule rule;
  rule.min_keys = options.min_keys.value_or(0);
  rule.policy = *options.policy;
  if (InfoOf(rule.policy).value != SelectionValue::kNone) {
    rule.value = static_cast<float>(options.module_value[module].value_or(options.value.value_or(1.0)));
  } else if (rule.policy == SelectionPolicy::kLearned) {
    rule.policy = SelectionPolicy::kRatio;
    rule.value = static_cast<float>(config.selection.learned_ratio[module][group]);
  }
  return rule;
}

absl::Status ResolveSelection(const ModelConfig& config, ResolvedOptions& resolved) {
  SelectionOptions& used = resolved.used.selection;
  if (!used.policy.has_value()) used.policy = IsLearned(config) ? SelectionPolicy::kLearned : SelectionPolicy::kDense;
  const SelectionPolicy policy = *used.policy;
  if (absl::Status status = CheckTrained("selection.policy", kSelectionPolicies, policy, config); !status.ok())
    return status;
  if (absl::Status status = CheckValues(used, policy); !status.ok()) return status;
  const bool has_minimum = InfoOf(policy).takes_min_keys;
  if (used.min_keys.has_value()) {
    if (!has_minimum) return HasNoMeaning("selection.min_keys", policy);
    if (*used.min_keys < 1) return Bad("selection.min_keys", *used.min_keys, "it must be 1 or more");
  } else if (has_minimum) {
    used.min_keys = config.selection.min_keys;
  }
  for (int module = 0; module < kModules; ++module) {
    resolved.selection[module].clear();
    for (int32_t group = 0; group < config.key_groups(static_cast<Module>(module)); ++group) {
      resolved.selection[module].push_back(RuleOf(used, config, module, group));
    }
  }
  return absl::OkStatus();
}

// ---- Depth ----

// Whether the policy decides a token's exit, so that bounds have a meaning.
bool TakesBounds(DepthPolicy policy) { return InfoOf(policy).signal != ExitSignal::kNone; }

absl::Status ResolveThresholds(DepthOptions& used, DepthPolicy policy, const ModelConfig& config, ExitRule& rule) {
  const int32_t layers = config.decoder.layers;
  if (InfoOf(policy).values != DepthValues::kThresholds) {
    return used.thresholds.empty() ? absl::OkStatus() : HasNoMeaning("depth.thresholds", policy);
  }
  if (used.thresholds.empty() && policy == DepthPolicy::kConfidence) used.thresholds = config.confidence;
  if (used.thresholds.empty()) used.thresholds = {InfoOf(policy).default_threshold};
  if (used.thresholds.size() != 1 && used.thresholds.size() != static_cast<size_t>(layers)) {
    return absl::InvalidArgumentError(absl::StrCat("depth.thresholds has ", used.thresholds.size(),
                                                   " values; it must have one for all layers or one a layer, ",
                                                   layers));
  }
  for (size_t i = 0; i < used.thresholds.size(); ++i) {
    if (!(used.thresholds[i] >= 0 && used.thresholds[i] <= 1)) {
      return Bad(absl::StrCat("depth.thresholds[", i, "]"), used.thresholds[i], "it must be in [0, 1]");
    }
  }
  for (int32_t layer = 0; layer < layers; ++layer) {
    rule.thresholds[layer] = static_cast<float>(used.thresholds[used.thresholds.size() == 1 ? 0 : layer]);
  }
  return absl::OkStatus();
}

absl::Status ResolveBounds(DepthOptions& used, DepthPolicy policy, int32_t layers, ExitRule& rule) {
  if (!TakesBounds(policy)) {
    if (used.min_exit.has_value()) return HasNoMeaning("depth.min_exit", policy);
    if (used.max_exit.has_value()) return HasNoMeaning("depth.max_exit", policy);
    return absl::OkStatus();
  }
  if (!used.min_exit.has_value()) used.min_exit = 1;
  if (!used.max_exit.has_value()) used.max_exit = layers;
  if (absl::Status status = CheckRange("depth.min_exit", *used.min_exit, 1, layers); !status.ok()) return status;
  if (absl::Status status = CheckRange("depth.max_exit", *used.max_exit, 1, layers); !status.ok()) return status;
  if (*used.min_exit > *used.max_exit) {
    return Bad("depth.min_exit", *used.min_exit, absl::StrCat("it must not exceed depth.max_exit, ", *used.max_exit));
  }
  rule.least = *used.min_exit;
  rule.greatest = *used.max_exit;
  return absl::OkStatus();
}

absl::Status ResolveDrafts(DepthOptions& used, DepthPolicy policy, int32_t layers, ResolvedOptions& resolved) {
  resolved.draft_tokens = 0;
  if (InfoOf(policy).values != DepthValues::kDrafts) {
    if (used.draft_exit.has_value()) return HasNoMeaning("depth.draft_exit", policy);
    if (used.draft_tokens.has_value()) return HasNoMeaning("depth.draft_tokens", policy);
    return absl::OkStatus();
  }
  if (!used.draft_exit.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("depth.draft_exit is missing; VERIFY needs a layer from 1 to ", layers - 1, ", below the last"));
  }
  if (absl::Status status = CheckRange("depth.draft_exit", *used.draft_exit, 1, layers - 1); !status.ok()) {
    return status;
  }
  if (!used.draft_tokens.has_value()) used.draft_tokens = kDefaultDraftTokens;
  if (absl::Status status = CheckRange("depth.draft_tokens", *used.draft_tokens, 1, kMaxDraftTokens); !status.ok()) {
    return status;
  }
  resolved.draft_tokens = *used.draft_tokens;
  resolved.draft_exit.at = resolved.draft_exit.greatest = *used.draft_exit;
  return absl::OkStatus();
}

absl::Status ResolveDepth(const ModelConfig& config, ResolvedOptions& resolved) {
  DepthOptions& used = resolved.used.depth;
  if (!used.policy.has_value()) used.policy = DepthPolicy::kFull;
  const DepthPolicy policy = *used.policy;
  const int32_t layers = config.decoder.layers;
  if (absl::Status status = CheckTrained("depth.policy", kDepthPolicies, policy, config); !status.ok()) return status;
  ExitRule rule;
  rule.policy = TakesBounds(policy) ? policy : DepthPolicy::kFixed;
  rule.least = 1;
  rule.greatest = layers;
  rule.at = layers;
  if (InfoOf(policy).values == DepthValues::kFixedExit) {
    if (!used.fixed_exit.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("depth.fixed_exit is missing; FIXED needs a layer from 1 to ", layers));
    }
    if (absl::Status status = CheckRange("depth.fixed_exit", *used.fixed_exit, 1, layers); !status.ok()) return status;
    rule.at = rule.greatest = *used.fixed_exit;
  } else if (used.fixed_exit.has_value()) {
    return HasNoMeaning("depth.fixed_exit", policy);
  }
  if (absl::Status status = ResolveThresholds(used, policy, config, rule); !status.ok()) return status;
  if (absl::Status status = ResolveBounds(used, policy, layers, rule); !status.ok()) return status;
  resolved.exit = rule;
  return ResolveDrafts(used, policy, layers, resolved);
}

// ---- Search ----

absl::Status ResolveSearch(const ModelConfig& config, ResolvedOptions& resolved) {
  SearchOptions& used = resolved.used.search;
  if (!used.beam.has_value()) used.beam = kDefaultBeam;
  if (!used.length_penalty.has_value()) used.length_penalty = config.length_penalty;
  if (!used.max_length_ratio.has_value()) used.max_length_ratio = kDefaultLengthRatio;
  if (!used.n_best.has_value()) used.n_best = 1;
  if (!used.shortlist.has_value()) used.shortlist = false;
  if (absl::Status status = CheckRange("search.beam", *used.beam, 1, kMaxBeam); !status.ok()) return status;
  if (resolved.draft_tokens > 0 && *used.beam > 1) {
    return Bad("search.beam", *used.beam, "VERIFY searches greedily: it must be 1, or depth.policy another");
  }
  // The conditions are written so that NaN fails them.
  if (!(*used.length_penalty >= 0 && *used.length_penalty <= kMaxLengthPenalty)) {
    return Bad("search.length_penalty", *used.length_penalty,
               absl::StrCat("it must be in [0, ", kMaxLengthPenalty, "]"));
  }
  if (!(*used.max_length_ratio > 0 && *used.max_length_ratio <= kMaxLengthRatio)) {
    return Bad("search.max_length_ratio", *used.max_length_ratio,
               absl::StrCat("it must be in (0, ", kMaxLengthRatio, "]"));
  }
  if (*used.n_best < 1 || *used.n_best > *used.beam) {
    return Bad("search.n_best", *used.n_best, absl::StrCat("it must be from 1 to search.beam, ", *used.beam));
  }
  if (used.prefix.size() > kMaxPrefixBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("search.prefix has ", used.prefix.size(), " bytes; it must have at most ", kMaxPrefixBytes));
  }
  if (const std::optional<size_t> invalid = FirstInvalidText(used.prefix); invalid.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("search.prefix is not UTF-8 text without NUL at byte ", *invalid));
  }
  if (*used.shortlist && !config.has_shortlist) {
    return Bad("search.shortlist", "true",
               absl::StrCat("the model ", config.name, " has no shortlist; leave it out, or give the model a ",
                            "shortlist.safetensors"));
  }
  if (used.no_repeat.has_value()) {
    if (*used.beam < 2) return Bad("search.no_repeat", *used.no_repeat, "it needs a search.beam of 2 or more");
    if (absl::Status status = CheckRange("search.no_repeat", *used.no_repeat, 2, kMaxNoRepeat); !status.ok()) {
      return status;
    }
  }
  resolved.beam = *used.beam;
  resolved.length_penalty = *used.length_penalty;
  resolved.max_length_ratio = *used.max_length_ratio;
  resolved.n_best = *used.n_best;
  resolved.shortlist = *used.shortlist;
  resolved.no_repeat = used.no_repeat.value_or(0);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ResolvedOptions> Resolve(const TranslationOptions& options, const ModelConfig& config) {
  ResolvedOptions resolved;
  resolved.used = options;
  resolved.trace = options.trace;
  resolved.alignment = options.alignment;
  if (absl::Status status = ResolveSelection(config, resolved); !status.ok()) return status;
  if (absl::Status status = ResolveDepth(config, resolved); !status.ok()) return status;
  if (absl::Status status = ResolveSearch(config, resolved); !status.ok()) return status;
  return resolved;
}

SupportedPolicies PoliciesOf(const ModelConfig& config) {
  return {PoliciesFor(kSelectionPolicies, config), PoliciesFor(kDepthPolicies, config)};
}

}  // namespace salient

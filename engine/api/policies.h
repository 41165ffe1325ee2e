// The policies of selection and of adaptive depth: one table each.
//
// All code that needs a policy's name or parameters reads these tables: the client's flags, the conversion of messages
// (server/request/proto.cc), operating points, checks against a model, error messages. The rule of a policy, which
// kernels apply, is in engine/attention/select_rules.h or engine/depth/exit.h. docs/contributing.md lists what a new
// policy needs.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace salient {

// ---- Selection: which keys a query reads ----

// With the numbers of the API (SelectionControls.Policy).
enum class SelectionPolicy : int32_t { kDense = 1, kLearned = 2, kRatio = 3, kMass = 4, kWindow = 5 };

// The meaning of a policy's `value`: no value; a ratio in (0, 1]; a whole number of keys.
enum class SelectionValue { kNone, kRatio, kKeys };

struct SelectionPolicyInfo {
  SelectionPolicy policy;
  const char* name;     // in operating points and flags; the API spells it in capitals
  const char* example;  // as a flag takes it
  SelectionValue value;
  bool takes_min_keys;
  bool needs_layers;  // the model must have selection layers
  bool needs_ratios;  // the model must have a learned ratio of keys for each selection layer
};

inline constexpr std::array<SelectionPolicyInfo, 5> kSelectionPolicies = {{
    {SelectionPolicy::kDense, "dense", "dense", SelectionValue::kNone, false, false, false},
    {SelectionPolicy::kLearned, "learned", "learned", SelectionValue::kNone, true, true, true},
    {SelectionPolicy::kRatio, "ratio", "ratio:0.05", SelectionValue::kRatio, true, true, false},
    {SelectionPolicy::kMass, "mass", "mass:0.95", SelectionValue::kRatio, true, true, false},
    {SelectionPolicy::kWindow, "window", "window:20", SelectionValue::kKeys, false, false, false},
}};

// ---- Adaptive depth: after which decoder layer a token is predicted ----

// With the numbers of the API (DepthControls.Policy).
enum class DepthPolicy : int32_t {
  kFull = 1,
  kFixed = 2,
  kSequence = 3,
  kMultinomial = 4,
  kGeometric = 5,
  kConfidence = 6,
  kVerify = 7
};

// The parameters of a policy besides the bounds on the exit.
enum class DepthValues { kNone, kFixedExit, kThresholds, kDrafts };

// The signal by which a policy decides. The sequence and multinomial heads are softmax heads over all exits; they are
// computed once and name an exit. The other signals are computed after each layer and compared with its threshold.
enum class ExitSignal : int32_t { kNone, kSequenceHead, kMultinomialHead, kGeometricHead, kConfidence };

struct DepthPolicyInfo {
  DepthPolicy policy;
  const char* name;     // in operating points and flags; the API spells it in capitals
  const char* example;  // as a flag takes it
  DepthValues values;
  ExitSignal signal;
  double default_threshold;  // of kThresholds
};

inline constexpr std::array<DepthPolicyInfo, 7> kDepthPolicies = {{
    {DepthPolicy::kFull, "full", "full", DepthValues::kNone, ExitSignal::kNone, 0},
    {DepthPolicy::kFixed, "fixed", "fixed:3", DepthValues::kFixedExit, ExitSignal::kNone, 0},
    {DepthPolicy::kSequence, "sequence", "sequence", DepthValues::kNone, ExitSignal::kSequenceHead, 0},
    {DepthPolicy::kMultinomial, "multinomial", "multinomial", DepthValues::kNone, ExitSignal::kMultinomialHead, 0},
    {DepthPolicy::kGeometric, "geometric", "geometric[:0.5]", DepthValues::kThresholds, ExitSignal::kGeometricHead,
     0.5},
    {DepthPolicy::kConfidence, "confidence", "confidence[:0.9]", DepthValues::kThresholds, ExitSignal::kConfidence,
     0.9},
    {DepthPolicy::kVerify, "verify", "verify:2[,4]", DepthValues::kDrafts, ExitSignal::kNone, 0},
}};

// ---- Both ----

// Row n of a table is the policy with the API's number n + 1.
template <typename Info, size_t kCount>
constexpr bool IsInOrder(const std::array<Info, kCount>& table) {
  for (size_t i = 0; i < kCount; ++i) {
    if (static_cast<size_t>(table[i].policy) != i + 1) return false;
  }
  return true;
}
static_assert(IsInOrder(kSelectionPolicies) && IsInOrder(kDepthPolicies));

constexpr const SelectionPolicyInfo& InfoOf(SelectionPolicy policy) {
  return kSelectionPolicies[static_cast<size_t>(policy) - 1];
}
constexpr const DepthPolicyInfo& InfoOf(DepthPolicy policy) { return kDepthPolicies[static_cast<size_t>(policy) - 1]; }

}  // namespace salient

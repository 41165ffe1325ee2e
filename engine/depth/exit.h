// Adaptive depth in a step: which rows leave after a layer, and which skipped positions a layer must still fill
// (arXiv 1910.10073). Layers are counted from 1 here: a row that exits at n ran layers 1 .. n.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/api/policies.h"
#include "engine/core/keys.h"
#include "engine/core/kv_store.h"
#include "engine/core/rows.h"

namespace salient {

inline constexpr int kMaxLayers = 64;

// How deep a row goes: a request's depth, resolved. Kernels read it by row. FULL and VERIFY are kFixed at the last
// layer; kSequence and kMultinomial become kFixed once their head has named an exit (ResolveExits).
//
//   kFixed        after layer `at`
//   kSequence     eq. 8: decided once, from the mean of the encoder's output
//   kMultinomial  eq. 11: decided a token, after layer 1
//   kGeometric    eq. 12, 13: at the first n with sigmoid(signal) > thresholds[n - 1]
//   kConfidence   at the first n with signal > thresholds[n - 1]
struct ExitRule {
  DepthPolicy policy = DepthPolicy::kFixed;
  int32_t at = 0;
  int32_t least = 1, greatest = 0;  // no row exits below `least` or runs a layer above `greatest`
  float thresholds[kMaxLayers] = {};
};

// Whether a row leaves after layer n, where its policy's signal is `signal`. One function for the reference and for
// kernels.
constexpr bool Leaves(const ExitRule& rule, int32_t layer, float signal) {
  if (layer >= rule.greatest) return true;
  if (layer < rule.least) return false;
  switch (rule.policy) {
    case DepthPolicy::kSequence:
    case DepthPolicy::kMultinomial:
      return false;  // not decided yet
    case DepthPolicy::kGeometric:
      return 1 / (1 + std::exp(-signal)) > rule.thresholds[layer - 1];
    case DepthPolicy::kConfidence:
      return signal > rule.thresholds[layer - 1];
    case DepthPolicy::kFull:
    case DepthPolicy::kFixed:
    case DepthPolicy::kVerify:
      return layer >= rule.at;
  }
  return true;
}

// Whether the row's policy compares the confidence after layer n.
constexpr bool ComparesConfidence(const ExitRule& rule, int32_t layer) {
  return rule.policy == DepthPolicy::kConfidence && layer >= rule.least && layer < rule.greatest;
}

// Outputs of d-wide products that a token's policy has computed when it leaves at `exit_at`: what looking costs.
// `layers`: the decoder's; `compared`: tokens that the confidence is computed over. The sequence head runs once a
// chunk, and is not counted.
constexpr double ExitOutputs(const ExitRule& rule, int32_t exit_at, int32_t layers, int32_t compared) {
  switch (InfoOf(rule.policy).signal) {
    case ExitSignal::kNone:
    case ExitSignal::kSequenceHead:
      return 0;
    case ExitSignal::kMultinomialHead:
      return layers;
    case ExitSignal::kGeometricHead:
      return std::min(exit_at, layers - 1);
    case ExitSignal::kConfidence:
      return static_cast<double>(compared) * std::max(0, std::min(exit_at, rule.greatest - 1) - rule.least + 1);
  }
  return 0;
}

// Splits the active rows after layer n. A row leaves if its rule says so, or at `greatest`.
struct DecideExitsArgs {
  Rows active;
  int32_t layer = 0;                // n
  const ExitRule* rules = nullptr;  // [.] by row number
  const float* signal = nullptr;    // [.] by row number: halting logit, or top probability; null where all are kFixed
  int32_t* exit_at = nullptr;       // [.] by row number; out: n where the row leaves
  int32_t* staying = nullptr;       // [active.capacity] out: rows that go on, ascending; not the array of `active`
  int32_t* staying_count = nullptr;
};

constexpr bool Leaves(const DecideExitsArgs& args, int32_t row) {
  return Leaves(args.rules[row], args.layer, args.signal == nullptr ? 0.0f : args.signal[row]);
}

// A row's exit by the arg max of a halting head's logits, lowest n on ties, clamped to the rule's bounds: the rule
// becomes kFixed. Rows of another policy are left alone.
struct ResolveExitsArgs {
  Rows rows;
  DepthPolicy policy = DepthPolicy::kMultinomial;
  const float* logits = nullptr;  // [rows.capacity, layers]; row i belongs to rows[i]
  int32_t layers = 0;
  const ExitRule* rules = nullptr;  // [.] by row number
  ExitRule* resolved = nullptr;     // [.] by row number, may be `rules`
};

// Which rows PickRows lists, where n is its layer.
enum class RowFilter : int32_t {
  kRunning,            // those that run the layer after n: held at n or lower, and not left
  kLeft,               // those that left after layer n
  kComparesConfidence  // those whose policy compares the confidence after layer n
};

// Lists the rows that a filter lets through, in their order.
struct PickRowsArgs {
  Rows rows;
  RowFilter filter = RowFilter::kRunning;
  int32_t layer = 0;                 // n; with kRunning 0 is before the first layer
  const int32_t* held_at = nullptr;  // [.] by row number: the layers that the row has run before; 0: none. kRunning
  const int32_t* exit_at = nullptr;  // [.] by row number; 0 where a row has not left. kRunning and kLeft
  const ExitRule* rules = nullptr;   // [.] by row number. kComparesConfidence
  int32_t* picked = nullptr;         // [rows.capacity] out
  int32_t* count = nullptr;          // [1] out
};

constexpr bool IsPicked(const PickRowsArgs& args, int32_t row) {
  switch (args.filter) {
    case RowFilter::kRunning:
      return args.held_at[row] <= args.layer && args.exit_at[row] == 0;
    case RowFilter::kLeft:
      return args.exit_at[row] == args.layer;
    case RowFilter::kComparesConfidence:
      return ComparesConfidence(args.rules[row], args.layer);
  }
  return false;
}

void DecideExits(const DecideExitsArgs& args);
void ResolveExits(const ResolveExitsArgs& args);
void PickRows(const PickRowsArgs& args);

}  // namespace salient

#include "engine/depth/exit.h"

#include <algorithm>
#include <cmath>

namespace salient {
namespace {

bool Leaves(const DecideExitsArgs& args, int32_t row) {
  const ExitRule& rule = args.rules[row];
  const int32_t layer = args.layer;
  if (layer >= rule.greatest) return true;
  if (layer < rule.least) return false;
  switch (rule.kind) {
    case ExitKind::kAt:
      return layer >= rule.at;
    case ExitKind::kSequence:
    case ExitKind::kMultinomial:
      return false;  // not decided yet: goes on until ResolveExits makes it kAt
    case ExitKind::kGeometric:
      return 1 / (1 + std::exp(-args.signal[row])) > rule.threshold[layer - 1];
    case ExitKind::kConfidence:
      return args.signal[row] > rule.threshold[layer - 1];
  }
  return true;
}

}  // namespace

void DecideExits(const DecideExitsArgs& args) {
  int32_t staying = 0;
  for (int32_t i = 0; i < args.active.size(); ++i) {
    const int32_t row = args.active[i];
    if (Leaves(args, row)) {
      args.exit_at[row] = args.layer;
    } else {
      args.staying[staying++] = row;
    }
  }
  *args.staying_count = staying;
}

void ResolveExits(const ResolveExitsArgs& args) {
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const ExitRule& rule = args.rules[row];
    if (rule.kind != args.kind) continue;
    const float* logits = args.logits + static_cast<size_t>(i) * args.layers;
    const int32_t best = static_cast<int32_t>(std::max_element(logits, logits + args.layers) - logits) + 1;
    const int32_t at = std::max(rule.least, std::min(best, rule.greatest));
    args.resolved[row] = rule;
    args.resolved[row].kind = ExitKind::kAt;
    args.resolved[row].at = at;
  }
}

void PickRows(const PickRowsArgs& args) {
  int32_t picked = 0;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    bool wanted;
    if (args.held_at != nullptr) {
      wanted = args.held_at[row] <= args.layer && args.exit_at[row] == 0;
    } else if (args.exit_at != nullptr) {
      wanted = args.exit_at[row] == args.layer;
    } else {
      const ExitRule& rule = args.rules[row];
      wanted = rule.kind == ExitKind::kConfidence && args.layer >= rule.least && args.layer < rule.greatest;
    }
    if (wanted) args.picked[picked++] = row;
  }
  *args.count = picked;
}

}  // namespace salient

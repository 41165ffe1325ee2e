#include "engine/depth/exit.h"

#include <algorithm>

namespace salient {

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
    if (rule.policy != args.policy) continue;
    const float* logits = args.logits + static_cast<size_t>(i) * args.layers;
    const int32_t best = static_cast<int32_t>(std::max_element(logits, logits + args.layers) - logits) + 1;
    const int32_t at = std::max(rule.least, std::min(best, rule.greatest));
    args.resolved[row] = rule;
    args.resolved[row].policy = DepthPolicy::kFixed;
    args.resolved[row].at = at;
  }
}

void PickRows(const PickRowsArgs& args) {
  int32_t picked = 0;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    if (IsPicked(args, row)) args.picked[picked++] = row;
  }
  *args.count = picked;
}

}  // namespace salient

// The parts of selection that depend on no scores, shared by every host backend.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/attention/select.h"

namespace salient {

// A training query of zeros would divide by zero; the training code uses the same floor.
inline constexpr float kLeastQuery = 1e-20f;

inline bool NeedsScores(const SelectionRule& rule, int32_t length) {
  switch (rule.kind) {
    case SelectionKind::kAll:
    case SelectionKind::kWindow:
      return false;
    case SelectionKind::kFraction:
      return KeysToKeep(rule, length) < length;
    case SelectionKind::kMass:
      return rule.min_keys < length;
  }
  return false;
}

// rounds half to even and clamps to [-127, 127]; a NaN becomes 127
inline int8_t QuantiseComponent(float value, float factor) {
  return static_cast<int8_t>(std::nearbyint(std::max(-127.0f, std::min(127.0f, value * factor))));
}

// Lists the window of kWindow, or all keys as kEveryKey. For rules that need no scores.
inline void SelectWithoutScores(const SelectionRule& rule, const KeyView& view, KeyList& list) {
  const int32_t keep = rule.kind == SelectionKind::kWindow ? KeysToKeep(rule, view.length) : view.length;
  list.count = kEveryKey;
  if (keep >= view.length) return;
  const int32_t first = std::clamp(view.centre - keep / 2, 0, view.length - keep);
  for (int32_t i = 0; i < keep; ++i) list.positions[i] = view.Position(first + i);
  list.count = keep;
}

// Counts the keys that were scored for a query. A fraction that keeps every key scores none.
inline void CountScored(const SelectArgs& args, int32_t row) {
  if (args.tallies == nullptr) return;
  const SelectionKind kind = args.rules[row].kind;
  const bool scored =
      kind == SelectionKind::kMass || (kind == SelectionKind::kFraction && args.lists[row].count != kEveryKey);
  if (scored) args.tallies[row].scored += args.views[row].length;
}

}  // namespace salient

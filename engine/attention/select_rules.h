// What selection policies mean: how many keys a rule keeps, and which, where that depends on no scores. The reference,
// the CPU and kernels share these functions.

#pragma once

#include <cmath>
#include <cstdint>

#include "engine/attention/quantise.h"
#include "engine/attention/select.h"

namespace salient {

// How many of `length` keys a rule keeps, never more than there are. For kMass, whose count depends on the scores, the
// most it may keep: all.
constexpr int32_t KeysToKeep(const SelectionRule& rule, int32_t length) {
  switch (rule.policy) {
    case SelectionPolicy::kDense:
    case SelectionPolicy::kLearned:  // kRatio in a rule
    case SelectionPolicy::kMass:
      return length;
    case SelectionPolicy::kWindow: {
      const double asked = rule.value < length ? rule.value : length;
      const auto keep = static_cast<int32_t>(asked);
      return keep < 0 ? 0 : keep;
    }
    case SelectionPolicy::kRatio: {
      // The small step back keeps a product such as 0.05 * 100, a bit above 5 in binary, at 5. `value` is a float's, so
      // the product is exact, and it does not matter whether a compiler fuses it with the subtraction.
      const auto keep = static_cast<int32_t>(std::ceil(rule.value * length - 1e-6));
      const int32_t least = keep > rule.min_keys ? keep : rule.min_keys;
      return least < length ? least : length;
    }
  }
  return length;
}

// Whether the rule's choice among `length` keys depends on their scores.
constexpr bool NeedsScores(const SelectionRule& rule, int32_t length) {
  if (rule.policy == SelectionPolicy::kRatio) return KeysToKeep(rule, length) < length;
  return rule.policy == SelectionPolicy::kMass && rule.min_keys < length;
}

// What rules that need no scores choose: `count` keys of those that the query sees, from index `first` on.
struct KeyWindow {
  int32_t first, count;
};
constexpr KeyWindow WindowOf(const SelectionRule& rule, const KeyView& view) {
  if (rule.policy != SelectionPolicy::kWindow) return {0, view.length};
  const int32_t keep = KeysToKeep(rule, view.length);
  const int32_t first = view.centre - keep / 2, last = view.length - keep;
  return {first < 0 ? 0 : first < last ? first : last, keep};
}

// Whether a query's keys count as scored in its tally. A kMass that keeps every key has summed over them, too.
constexpr bool CountsAsScored(const SelectionRule& rule, int32_t length) {
  return rule.policy == SelectionPolicy::kMass || NeedsScores(rule, length);
}

// Lists WindowOf, or all keys as kEveryKey. For rules that need no scores.
inline void SelectWithoutScores(const SelectionRule& rule, const KeyView& view, KeyList& list) {
  const KeyWindow window = WindowOf(rule, view);
  list.count = kEveryKey;
  if (window.count >= view.length) return;
  for (int32_t i = 0; i < window.count; ++i) list.positions[i] = view.Position(window.first + i);
  list.count = window.count;
}

inline void CountScored(const SelectArgs& args, int32_t row) {
  if (args.tallies == nullptr || !CountsAsScored(args.rules[row], args.views[row].length)) return;
  args.tallies[row].scored += args.views[row].length;
}

}  // namespace salient

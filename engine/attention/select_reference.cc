// Selection by sorting: the oracle.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/attention/mass.h"
#include "engine/attention/select.h"
#include "engine/attention/select_rules.h"

namespace salient {
namespace {

struct QuantisedQuery {
  std::vector<int8_t> components;
  float largest = 0;
};

QuantisedQuery Quantise(const float* query, int32_t width) {
  QuantisedQuery result;
  for (int32_t c = 0; c < width; ++c) result.largest = std::max(result.largest, std::fabs(query[c]));
  const float factor = QuantisationFactor(result.largest);
  for (int32_t c = 0; c < width; ++c) result.components.push_back(QuantiseComponent(query[c], factor));
  return result;
}

std::vector<int32_t> Score(const QuantisedQuery& query, const SelectArgs& args, const KeyView& view) {
  std::vector<int32_t> scores(view.length, 0);
  for (int32_t j = 0; j < view.length; ++j) {
    const int8_t* key = args.store.SelectionKey(args.group, view.pages, view.Position(j));
    for (size_t c = 0; c < query.components.size(); ++c) {
      scores[j] += query.components[c] * key[c / 4 * 64 + c % 4];
    }
  }
  return scores;
}

// The fewest of the best keys whose weights sum to the rule's share of all.
int32_t KeysForMass(const SelectionRule& rule, const std::vector<int32_t>& scores, const std::vector<int32_t>& order,
                    float scale) {
  const int32_t best = scores[order[0]];
  uint64_t total = 0;
  for (int32_t score : scores) total += MassWeight(best - score, scale);
  const double wanted = rule.value * static_cast<double>(total);
  uint64_t sum = 0;
  int32_t keep = 0;
  while (keep < static_cast<int32_t>(order.size()) && static_cast<double>(sum) < wanted) {
    sum += MassWeight(best - scores[order[keep++]], scale);
  }
  return std::max(keep, rule.min_keys);
}

void SelectRow(const SelectArgs& args, const float* query, const KeyView& view, const SelectionRule& rule,
               KeyList& list) {
  if (!NeedsScores(rule, view.length)) return SelectWithoutScores(rule, view, list);

  const QuantisedQuery quantised = Quantise(query, args.store.layout.selection_width);
  const std::vector<int32_t> scores = Score(quantised, args, view);
  std::vector<int32_t> order(view.length);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });

  int32_t keep = KeysToKeep(rule, view.length);
  if (rule.policy == SelectionPolicy::kMass) {
    const float scale = MassScale(quantised.largest, args.key_inverse_step, args.store.layout.selection_width);
    keep = KeysForMass(rule, scores, order, scale);
  }
  list.count = kEveryKey;
  if (keep >= view.length) return;
  std::sort(order.begin(), order.begin() + keep);
  for (int32_t i = 0; i < keep; ++i) list.positions[i] = view.Position(order[i]);
  list.count = keep;
}

}  // namespace

void AppendSelectionReference(const AppendSelectionArgs& args) {
  const int32_t width = args.store.layout.selection_width;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const float* key = args.keys + static_cast<size_t>(i) * width;
    int8_t* stored = args.store.SelectionKey(args.group, args.views[row].pages, args.positions[row]);
    for (int32_t c = 0; c < width; ++c) {
      stored[c / 4 * 64 + c % 4] = QuantiseComponent(key[c], args.key_inverse_step);
    }
  }
}

void SelectReference(const SelectArgs& args) {
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    SelectRow(args, args.queries + static_cast<size_t>(i) * args.store.layout.selection_width, args.views[row],
              args.rules[row], args.lists[row]);
    CountScored(args, row);
  }
}

}  // namespace salient

// Selection on the CPU: integer scores, then an exact top-k.
//
// The k-th best score is found by bisection over the range of scores, each step a count over the row's scores: some
// twenty passes over an array that lies in the first-level cache, no sorting and nothing data-dependent but the last
// pass, which lists the keys that are above the threshold and the first of those that are on it. kMass bisects the
// same way on the weights' sum first, to learn its k.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/attention/kernels.h"
#include "engine/attention/mass.h"
#include "engine/attention/select.h"
#include "engine/attention/select_rules.h"
#include "engine/base/parallel.h"

namespace salient {
namespace {

struct Scratch {
  std::vector<int8_t> components;
  std::vector<int32_t> scores;  // of whole blocks
  std::vector<uint32_t> weights;
};

Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

int32_t Blocks(int32_t keys) { return (keys + kSelectionBlock - 1) / kSelectionBlock; }

// The highest threshold at which something that grows as the threshold falls, `enough`, holds for the scores above or
// on it: enough(t) tells it for scores > t. Needs enough(least - 1) and not enough(greatest).
template <typename Enough>
int32_t Bisect(int32_t least, int32_t greatest, const Enough& enough) {
  int32_t low = least - 1, high = greatest;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    (enough(middle) ? low : high) = middle;
  }
  return high;
}

class RowSelection {
 public:
  RowSelection(const SelectArgs& args, const SelectKernels& kernels, const float* query, const KeyView& view)
      : args_(args), kernels_(kernels), view_(view), scratch_(ThreadScratch()) {
    const int32_t width = args.store.layout.selection_width;
    scratch_.components.resize(width);
    scratch_.scores.resize(static_cast<size_t>(Blocks(view.length)) * kSelectionBlock);
    largest_query_ = kernels.largest(query, width);
    const float factor = 127.0f / std::max(largest_query_, kLeastQuery);
    query_.sum = kernels.quantise(query, width, factor, scratch_.components.data());
    query_.components = scratch_.components.data();
    query_.width = width;
  }

  void Run(const SelectionRule& rule, KeyList& list) {
    view_.candidates == nullptr ? ScoreAll() : ScoreCandidates();
    kernels_.range(scratch_.scores.data(), view_.length, &least_, &greatest_);
    const int32_t keep = rule.kind == SelectionKind::kMass ? KeysForMass(rule) : KeysToKeep(rule, view_.length);
    list.count = kEveryKey;
    if (keep < view_.length) ListBest(keep, list);
  }

 private:
  void ScoreAll() {
    for (int32_t first = 0; first < view_.length; first += kPagePositions) {
      kernels_.score(args_.store.SelectionKey(args_.group, view_.pages, first),
                     Blocks(std::min(kPagePositions, view_.length - first)), query_, scratch_.scores.data() + first);
    }
  }

  // Scores every block that holds a candidate once and picks the candidates from it: with a beam, a block of 16
  // positions holds several of a hypothesis, and strided loads of single keys would cost more than whole blocks.
  void ScoreCandidates() {
    int32_t block[kSelectionBlock];
    for (int32_t i = 0; i < view_.length;) {
      const int32_t start = view_.candidates[i] / kSelectionBlock * kSelectionBlock;
      kernels_.score(args_.store.SelectionKey(args_.group, view_.pages, start), 1, query_, block);
      for (; i < view_.length && view_.candidates[i] - start < kSelectionBlock; ++i) {
        scratch_.scores[i] = block[view_.candidates[i] - start];
      }
    }
  }

  // The fewest of the best keys whose weights sum to the rule's share of all.
  int32_t KeysForMass(const SelectionRule& rule) {
    const int32_t n = view_.length;
    const int32_t* scores = scratch_.scores.data();
    scratch_.weights.resize(n);
    uint32_t* weights = scratch_.weights.data();
    const float scale = MassScale(largest_query_, args_.key_inverse_step, query_.width);
    uint64_t total = 0;
    for (int32_t i = 0; i < n; ++i) total += weights[i] = MassWeight(greatest_ - scores[i], scale);
    const double wanted = static_cast<double>(rule.value) * static_cast<double>(total);
    if (!(wanted > 0)) return rule.min_keys;

    if (static_cast<double>(total) < wanted) return n;
    const int32_t threshold = Bisect(least_, greatest_, [&](int32_t t) {
      return static_cast<double>(kernels_.mass_above(scores, weights, n, t)) >= wanted;
    });
    // Everything above the threshold, and as many of the equally heavy keys on it as are needed.
    uint64_t mass = kernels_.mass_above(scores, weights, n, threshold);
    int32_t keep = kernels_.count_above(scores, n, threshold);
    const uint64_t each = MassWeight(greatest_ - threshold, scale);
    for (; static_cast<double>(mass) < wanted; mass += each) ++keep;
    return std::max(keep, rule.min_keys);
  }

  // Lists the `keep` best; fewer than there are.
  void ListBest(int32_t keep, KeyList& list) {
    const int32_t n = view_.length;
    const int32_t* scores = scratch_.scores.data();
    list.count = 0;
    if (keep <= 0) return;
    const int32_t threshold =
        Bisect(least_, greatest_, [&](int32_t t) { return kernels_.count_above(scores, n, t) >= keep; });
    const int32_t ties = keep - kernels_.count_above(scores, n, threshold);
    list.count = kernels_.list_above(scores, n, threshold, ties, list.positions);
    if (view_.candidates == nullptr) return;
    for (int32_t i = 0; i < list.count; ++i) list.positions[i] = view_.candidates[list.positions[i]];
  }

  const SelectArgs& args_;
  const SelectKernels& kernels_;
  const KeyView& view_;
  Scratch& scratch_;
  SelectionQuery query_;
  float largest_query_ = 0;
  int32_t least_ = 0, greatest_ = 0;
};

// What scoring and listing one row costs, for dividing the rows; the longest row stands for all.
int64_t RowWork(const SelectArgs& args) {
  int32_t longest = 0;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    if (NeedsScores(args.rules[row], args.views[row].length)) longest = std::max(longest, args.views[row].length);
  }
  constexpr int32_t kPasses = 24;
  return int64_t{longest} * (args.store.layout.selection_width / 4 + kPasses);
}

}  // namespace

void AppendSelectionCpu(const AppendSelectionArgs& args, ThreadPool& pool) {
  const SelectKernels& kernels = AttentionKernelsFor(DetectCpuIsa()).select;
  const int32_t width = args.store.layout.selection_width;
  ParallelRanges(pool, args.rows.size(), width * 8, [&](int64_t begin, int64_t end) {
    std::vector<int8_t>& components = ThreadScratch().components;
    components.resize(width);
    for (int64_t i = begin; i < end; ++i) {
      const int32_t row = args.rows[static_cast<int32_t>(i)];
      kernels.quantise(args.keys + i * width, width, args.key_inverse_step, components.data());
      int8_t* stored = args.store.SelectionKey(args.group, args.views[row].pages, args.positions[row]);
      for (int32_t c = 0; c < width; c += 4) std::copy_n(components.data() + c, 4, stored + c * kSelectionBlock);
    }
  });
}

void SelectCpu(const SelectArgs& args, ThreadPool& pool) {
  const SelectKernels& kernels = AttentionKernelsFor(DetectCpuIsa()).select;
  ParallelRanges(pool, args.rows.size(), RowWork(args), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t row = args.rows[static_cast<int32_t>(i)];
      const KeyView& view = args.views[row];
      if (!NeedsScores(args.rules[row], view.length)) {
        SelectWithoutScores(args.rules[row], view, args.lists[row]);
      } else {
        const float* query = args.queries + i * args.store.layout.selection_width;
        RowSelection(args, kernels, query, view).Run(args.rules[row], args.lists[row]);
      }
      CountScored(args, row);
    }
  });
}

}  // namespace salient

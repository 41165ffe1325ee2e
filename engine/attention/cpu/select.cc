// Selection on the CPU: integer scores, then an exact top-k.
//
// The k-th best score is found by bisection over the range of scores. Each step counts the scores above a threshold;
// the row's scores fit the first-level cache. When few scores are left between the bounds, they are copied, and the
// other steps count only those. Nothing is sorted. Only the last pass depends on the data: it lists the keys above the
// threshold and the first of those equal to it. kMass first bisects in the same way on the sum of weights, to find its
// k.
//
// Queries of one document are scored together if the processor has int8 matrix instructions.

#include "engine/attention/select.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/attention/cpu/kernels.h"
#include "engine/attention/cpu/operations.h"
#include "engine/attention/mass.h"
#include "engine/attention/select_rules.h"
#include "engine/base/parallel.h"

namespace salient {
namespace {

struct SelectScratch {
  std::vector<int8_t> queries;
  std::vector<int32_t> scores;  // a multiple of the block size
  std::vector<int32_t> narrowed, listed;
  std::vector<uint32_t> weights;
  std::vector<const int8_t*> pages;
};

SelectScratch& ThreadSelectScratch() {
  thread_local SelectScratch scratch;
  return scratch;
}

int32_t Blocks(int32_t keys) { return (keys + kSelectionBlock - 1) / kSelectionBlock; }

// The highest threshold t for which the scores >= t are enough. `enough(t)` says whether the scores > t are, and is
// monotonic: it holds for every t below one for which it holds. Precondition: enough(least - 1), and not
// enough(greatest).
template <typename Enough>
int32_t Bisect(int32_t least, int32_t greatest, const Enough& enough) {
  int32_t low = least - 1, high = greatest;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    (enough(middle) ? low : high) = middle;
  }
  return high;
}

// Writes the query as int8 to `components`; returns its largest component.
float Quantise(const SelectKernels& kernels, const float* query, int32_t width, int8_t* components, int32_t* sum) {
  const float largest = kernels.largest(query, width);
  *sum = kernels.quantise(query, width, QuantisationFactor(largest), components);
  return largest;
}

// Scores one query's keys.
class QueryScores {
 public:
  QueryScores(const SelectArgs& args, const SelectKernels& kernels, const KeyView& view, const SelectionQuery& query)
      : args_(args), kernels_(kernels), view_(view), query_(query) {}

  void Write(int32_t* scores) const { view_.candidates == nullptr ? ScoreAll(scores) : ScoreCandidates(scores); }

 private:
  void ScoreAll(int32_t* scores) const {
    for (int32_t first = 0; first < view_.length; first += kPagePositions) {
      kernels_.score(args_.store.SelectionKey(args_.group, view_.pages, first),
                     Blocks(std::min(kPagePositions, view_.length - first)), query_, scores + first);
    }
  }

  // Scores every block that contains a candidate, then picks the candidates. With a beam, a block of 16 positions
  // contains several candidates of a hypothesis, so whole blocks cost less than strided loads of single keys.
  void ScoreCandidates(int32_t* scores) const {
    int32_t block[kSelectionBlock];
    for (int32_t i = 0; i < view_.length;) {
      const int32_t start = view_.candidates[i] / kSelectionBlock * kSelectionBlock;
      kernels_.score(args_.store.SelectionKey(args_.group, view_.pages, start), 1, query_, block);
      for (; i < view_.length && view_.candidates[i] - start < kSelectionBlock; ++i) {
        scores[i] = block[view_.candidates[i] - start];
      }
    }
  }

  const SelectArgs& args_;
  const SelectKernels& kernels_;
  const KeyView& view_;
  const SelectionQuery& query_;
};

// Chooses one query's keys by their scores.
class Choice {
 public:
  // `largest_query`: the query's largest component, before it became int8.
  Choice(const SelectArgs& args, const SelectKernels& kernels, const KeyView& view, float largest_query,
         const int32_t* scores)
      : args_(args), kernels_(kernels), view_(view), largest_query_(largest_query), scores_(scores) {
    kernels.range(scores, view.length, &least_, &greatest_);
  }

  void Write(const SelectionRule& rule, KeyList& list) const {
    const int32_t keep = rule.policy == SelectionPolicy::kMass ? KeysForMass(rule) : KeysToKeep(rule, view_.length);
    list.count = kEveryKey;
    if (keep < view_.length) ListBest(keep, list);
  }

 private:
  // The smallest number of best keys whose weights sum to the rule's share of the total.
  int32_t KeysForMass(const SelectionRule& rule) const {
    const int32_t n = view_.length;
    std::vector<uint32_t>& room = ThreadSelectScratch().weights;
    room.resize(n);
    uint32_t* weights = room.data();
    const float scale = MassScale(largest_query_, args_.key_inverse_step, args_.store.layout.selection_width);
    uint64_t total = 0;
    for (int32_t i = 0; i < n; ++i) total += weights[i] = MassWeight(greatest_ - scores_[i], scale);
    const double wanted = static_cast<double>(rule.value) * static_cast<double>(total);
    if (!(wanted > 0)) return rule.min_keys;

    if (static_cast<double>(total) < wanted) return n;
    const int32_t threshold = Bisect(least_, greatest_, [&](int32_t t) {
      return static_cast<double>(kernels_.mass_above(scores_, weights, n, t)) >= wanted;
    });
    // All keys above the threshold, and as many of those equal to it as are needed.
    uint64_t mass = kernels_.mass_above(scores_, weights, n, threshold);
    int32_t keep = kernels_.count_above(scores_, n, threshold);
    const uint64_t each = MassWeight(greatest_ - threshold, scale);
    for (; static_cast<double>(mass) < wanted; mass += each) ++keep;
    return std::max(keep, rule.min_keys);
  }

  // Lists the `keep` best keys. Precondition: there are more than `keep`.
  void ListBest(int32_t keep, KeyList& list) const {
    list.count = 0;
    if (keep <= 0) return;
    const Threshold threshold = FindThreshold(keep);
    // The kernel writes a vector for each one that it reads, so it writes to memory that is in the cache; the list is
    // copied.
    std::vector<int32_t>& listed = ThreadSelectScratch().listed;
    if (listed.size() < static_cast<size_t>(view_.length)) listed.resize(view_.length);
    const int32_t ties = keep - threshold.above;
    list.count = kernels_.list_above(scores_, view_.length, threshold.score, ties, listed.data());
    std::copy_n(listed.data(), list.count, list.positions);
    if (view_.candidates == nullptr) return;
    for (int32_t i = 0; i < list.count; ++i) list.positions[i] = view_.candidates[list.positions[i]];
  }

  // The keep-th best score, and the number of scores above it.
  struct Threshold {
    int32_t score = 0, above = 0;
  };
  Threshold FindThreshold(int32_t keep) const {
    constexpr int32_t kWorthCopying = 8;  // copy when so many times fewer are left
    const int32_t* scores = scores_;
    int32_t n = view_.length;
    int32_t beyond = 0;  // scores above all that `scores` still contains
    // Invariant: `most` scores are above `low`, `least` are above `high`, and most >= keep > least.
    int32_t low = least_ - 1, high = greatest_, most = n, least = 0;
    while (high - low > 1) {
      if ((most - least) * kWorthCopying <= n) {
        std::vector<int32_t>& room = ThreadSelectScratch().narrowed;
        if (scores == scores_) room.resize(n);
        n = kernels_.between(scores, n, low, high, room.data());
        scores = room.data();
        beyond = least;
      }
      const int32_t middle = low + (high - low) / 2;
      const int32_t above = beyond + kernels_.count_above(scores, n, middle);
      (above >= keep ? low : high) = middle;
      (above >= keep ? most : least) = above;
    }
    return {high, least};
  }

  const SelectArgs& args_;
  const SelectKernels& kernels_;
  const KeyView& view_;
  const float largest_query_;
  const int32_t* scores_;
  int32_t least_ = 0, greatest_ = 0;
};

// Selects for the rows that one thread has.
class RowsSelection {
 public:
  RowsSelection(const SelectArgs& args, CpuIsa isa)
      : args_(args), kernels_(AttentionKernelsFor(isa).select), score_many_(ScoreManyKernelFor(isa)) {}

  void Run(int32_t begin, int32_t end) const {
    for (int32_t i = begin; i < end;) {
      const int32_t together = Together(i, end);
      if (together >= kFewestTogether) {
        ScoreTogether(i, together);
        i += together;
        continue;
      }
      Scores(i) ? ScoreAlone(i) : SelectWithoutScores(Rule(i), View(i), List(i));
      ++i;
    }
    for (int32_t i = begin; i < end; ++i) CountScored(args_, args_.rows[i]);
  }

 private:
  static constexpr int32_t kFewestTogether = 4;

  const KeyView& View(int32_t i) const { return args_.views[args_.rows[i]]; }
  const SelectionRule& Rule(int32_t i) const { return args_.rules[args_.rows[i]]; }
  KeyList& List(int32_t i) const { return args_.lists[args_.rows[i]]; }
  const float* Query(int32_t i) const { return args_.queries + static_cast<size_t>(i) * width_; }
  bool Scores(int32_t i) const { return NeedsScores(Rule(i), View(i).length); }

  // How many rows from i on can be scored together, over all keys of one document.
  int32_t Together(int32_t i, int32_t end) const {
    if (score_many_ == nullptr) return 0;
    int32_t last = i;
    while (last < end && last - i < kQueriesAtOnce && Scores(last) && View(last).candidates == nullptr &&
           View(last).pages == View(i).pages) {
      ++last;
    }
    return last - i;
  }

  void ScoreAlone(int32_t i) const {
    SelectScratch& scratch = ThreadSelectScratch();
    const KeyView& view = View(i);
    scratch.queries.resize(width_);
    scratch.scores.resize(static_cast<size_t>(Blocks(view.length)) * kSelectionBlock);
    SelectionQuery query = {.components = scratch.queries.data(), .width = width_};
    const float largest = Quantise(kernels_, Query(i), width_, scratch.queries.data(), &query.sum);
    QueryScores(args_, kernels_, view, query).Write(scratch.scores.data());
    Choice(args_, kernels_, view, largest, scratch.scores.data()).Write(Rule(i), List(i));
  }

  void ScoreTogether(int32_t first, int32_t count) const {
    SelectScratch& scratch = ThreadSelectScratch();
    int32_t length = 0;
    for (int32_t i = first; i < first + count; ++i) length = std::max(length, View(i).length);
    ScoreTask task;
    task.width = width_;
    task.query_bytes = static_cast<size_t>(width_ + 63) / 64 * 64;
    scratch.queries.assign(kQueriesAtOnce * task.query_bytes, 0);
    float largest[kQueriesAtOnce];
    for (int32_t q = 0; q < count; ++q) {
      int32_t sum;
      largest[q] = Quantise(kernels_, Query(first + q), width_, scratch.queries.data() + q * task.query_bytes, &sum);
    }
    scratch.pages.clear();
    for (int32_t at = 0; at < length; at += kPagePositions) {
      scratch.pages.push_back(args_.store.SelectionKey(args_.group, View(first).pages, at));
    }
    task.queries = scratch.queries.data();
    task.pages = scratch.pages.data();
    task.blocks = Blocks(length);
    // A multiple of 4 KB plus a little, so that rows lie in different sets of the first-level cache, whatever the
    // length.
    task.stride = static_cast<size_t>(length + 1023) / 1024 * 1024 + 80;
    if (scratch.scores.size() < kQueriesAtOnce * task.stride) scratch.scores.resize(kQueriesAtOnce * task.stride);
    task.scores = scratch.scores.data();
    score_many_(task);
    for (int32_t q = 0; q < count; ++q) {
      const int32_t i = first + q;
      Choice(args_, kernels_, View(i), largest[q], task.scores + q * task.stride).Write(Rule(i), List(i));
    }
  }

  const SelectArgs& args_;
  const SelectKernels& kernels_;
  const ScoreManyKernel score_many_;
  const int32_t width_ = args_.store.layout.selection_width;
};

// The cost of scoring and listing one row, for dividing the rows among threads. All rows count as long as the longest.
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
    std::vector<int8_t>& components = ThreadSelectScratch().queries;
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
  const RowsSelection selection(args, DetectCpuIsa());
  ParallelRanges(pool, args.rows.size(), RowWork(args), [&selection](int64_t begin, int64_t end) {
    selection.Run(static_cast<int32_t>(begin), static_cast<int32_t>(end));
  });
}

}  // namespace salient

// Selection of one row's keys by one block: int8 scores by dp4a and an exact top-k.
//
// The k-th best score is found by a radix search, 8 bits at a time from the top, on the difference between a score and
// the least one. Each pass makes a histogram of the scores that share the digits found so far, and takes the bin in
// which the count from above reaches k. Two or three passes give the exact threshold. Differences fill all bins of the
// first pass, so few threads add to the same bin. Then the keys above the threshold are listed, and the first of those
// equal to it, in order of position. kMass first finds its k in the same way, with weights in place of counts. All sums
// are of integers, so the order of atomic operations does not matter.
//
// Scores of the first kHeldScores keys are kept in shared memory; those of longer rows are computed again in every
// pass. Where kMass counts keys in floating point, product and sum are rounded apart, as the CPU does it.

#pragma once

#include <climits>

#include "engine/attention/cuda/quantise.h"
#include "engine/attention/cuda/row_block.h"
#include "engine/attention/mass.h"
#include "engine/attention/select_rules.h"
#include "engine/core/cuda/pages.h"

namespace salient::cuda {

inline constexpr int kHeldScores = 10 * 1024;
inline constexpr int kBinBits = 8;
inline constexpr int kBins = 1 << kBinBits;
inline constexpr int kMostQueryWords = 256;  // of a selection query: ds up to 1024

__device__ inline void ListWindow(const KeyWindow& window, const KeyView& view, KeyList& list) {
  if (threadIdx.x == 0) list.count = window.count >= view.length ? kEveryKey : window.count;
  if (window.count >= view.length) return;
  for (auto j = static_cast<int32_t>(threadIdx.x); j < window.count; j += kRowThreads) {
    list.positions[j] = view.candidates == nullptr ? window.first + j : view.candidates[window.first + j];
  }
}

// By one thread.
__device__ inline void TallyScores(const SelectArgs& args, const SelectionRule& rule, int32_t row) {
  const int32_t length = args.views[row].length;
  if (args.tallies != nullptr && CountsAsScored(rule, length)) args.tallies[row].scored += length;
}

struct SelectShared {
  int32_t query[kMostQueryWords];
  uint32_t counts[kBins];
  unsigned long long masses[kBins];
  int32_t of_warp[2 * kRowWarps];
  float largest[kRowWarps];
  // What the first warp found: the bin, and what lies above it.
  uint32_t bin, count_above;
  unsigned long long mass_above, total;
};

// One row's search, as each of its block's threads sees it.
struct KeySearch {
  SelectShared& shared;
  int32_t* held;  // [kHeldScores]
  const PagesView& pages;
  const KeyView view;
  const uint32_t* mass_table;

  __device__ int32_t Position(int32_t j) const { return view.candidates == nullptr ? j : view.candidates[j]; }

  __device__ int32_t Compute(int32_t j) const {
    const int32_t* key = pages.SelectionKey(view.pages, Position(j));
    int32_t score = 0;
    const int32_t words = pages.selection_width / 4;
#pragma unroll 8
    for (int32_t w = 0; w < words; ++w) score = __dp4a(shared.query[w], key[w * kSelectionBlock], score);
    return score;
  }
  // Of the keys at positions first .. first + 3, a multiple of 4: 16 bytes a load. Those beyond the last key are in its
  // page.
  __device__ void ComputeFour(int32_t first, int32_t (&scores)[4]) const {
    const auto* key = reinterpret_cast<const uint4*>(pages.SelectionKey(view.pages, first));
    for (int32_t& score : scores) score = 0;
    const int32_t words = pages.selection_width / 4;
#pragma unroll 8
    for (int32_t w = 0; w < words; ++w) {
      const uint4 four = key[w * (kSelectionBlock / 4)];
      scores[0] = __dp4a(shared.query[w], static_cast<int32_t>(four.x), scores[0]);
      scores[1] = __dp4a(shared.query[w], static_cast<int32_t>(four.y), scores[1]);
      scores[2] = __dp4a(shared.query[w], static_cast<int32_t>(four.z), scores[2]);
      scores[3] = __dp4a(shared.query[w], static_cast<int32_t>(four.w), scores[3]);
    }
  }
  __device__ int32_t Score(int32_t j) const { return j < kHeldScores ? held[j] : Compute(j); }
};

// MassWeight of mass.h.
__device__ inline uint32_t Weight(int32_t below, float scale, const uint32_t* table) {
  const float product = static_cast<float>(below) * scale;
  const float steps = product < static_cast<float>(kMassSpan) ? product : static_cast<float>(kMassSpan);
  const auto step = static_cast<int32_t>(steps);
  return step >= kMassSpan ? 0 : table[step % kMassSteps] >> (step / kMassSteps);
}

// Quantises the query into shared memory; returns its largest component.
__device__ inline float QuantiseQuery(SelectShared& shared, const float* query, int32_t width) {
  float largest = 0;
  for (auto c = static_cast<int32_t>(threadIdx.x); c < width; c += kRowThreads) {
    largest = fmaxf(largest, fabsf(query[c]));
  }
  largest = WarpMax(largest);
  if (threadIdx.x % kWarp == 0) shared.largest[threadIdx.x / kWarp] = largest;
  __syncthreads();
  largest = shared.largest[0];
  for (int warp = 1; warp < kRowWarps; ++warp) largest = fmaxf(largest, shared.largest[warp]);
  const float factor = QuantisationFactor(largest);
  for (auto w = static_cast<int32_t>(threadIdx.x); w < width / 4; w += kRowThreads) {
    shared.query[w] = QuantiseWord(query + 4 * w, factor);
  }
  __syncthreads();
  return largest;
}

struct ScoreRange {
  int32_t least, best;
};

// Fills `held`, and returns the least and the best score of all.
__device__ inline ScoreRange ScoreAll(const KeySearch& search) {
  const int32_t length = search.view.length;
  ScoreRange range = {INT_MAX, INT_MIN};
  const auto take = [&](int32_t j, int32_t score) {
    if (j < kHeldScores) search.held[j] = score;
    range = {min(range.least, score), max(range.best, score)};
  };
  if (search.view.candidates == nullptr) {
    for (int32_t j = 4 * static_cast<int32_t>(threadIdx.x); j < length; j += 4 * kRowThreads) {
      int32_t scores[4];
      search.ComputeFour(j, scores);
#pragma unroll
      for (int a = 0; a < 4; ++a) {
        if (j + a < length) take(j + a, scores[a]);
      }
    }
  } else {
    for (auto j = static_cast<int32_t>(threadIdx.x); j < length; j += kRowThreads) take(j, search.Compute(j));
  }
  for (int step = kWarp / 2; step > 0; step /= 2) {
    range.least = min(range.least, __shfl_xor_sync(kAllLanes, range.least, step));
    range.best = max(range.best, __shfl_xor_sync(kAllLanes, range.best, step));
  }
  int32_t* of_warp = search.shared.of_warp;
  if (threadIdx.x % kWarp == 0) {
    of_warp[threadIdx.x / kWarp] = range.least;
    of_warp[kRowWarps + threadIdx.x / kWarp] = range.best;
  }
  __syncthreads();
  for (int warp = 0; warp < kRowWarps; ++warp) {
    range = {min(range.least, of_warp[warp]), max(range.best, of_warp[kRowWarps + warp])};
  }
  __syncthreads();
  return range;
}

// By the first warp: the highest bin down to which the sums of `values` from the top on reach what is wanted; lane l
// looks at bins 255 - 8 l and below. Bin 0 where nothing does.
template <typename T, typename Reached>
__device__ void FindBin(const T* values, const Reached& reached, uint32_t* bin, T* above) {
  constexpr int kEach = kBins / kWarp;
  const int lane = static_cast<int>(threadIdx.x), first = kBins - 1 - lane * kEach;
  T own = 0;
  for (int b = 0; b < kEach; ++b) own += values[first - b];
  T through = own;
  for (int step = 1; step < kWarp; step *= 2) {
    const T before = __shfl_up_sync(kAllLanes, through, step);
    if (lane >= step) through += before;
  }
  T sum = through - own;
  const bool here = !reached(sum) && reached(through);
  const bool nobody = __ballot_sync(kAllLanes, here) == 0;
  if (!here && !(nobody && lane == kWarp - 1)) return;
  for (int b = 0; b < kEach; ++b) {
    const T next = sum + values[first - b];
    if (reached(next) || b == kEach - 1) {
      *bin = static_cast<uint32_t>(first - b);
      *above = sum;
      return;
    }
    sum = next;
  }
}

// A threshold score, and how many scores are above it, and what they weigh.
struct Threshold {
  int32_t score;
  uint32_t count_above;
  unsigned long long mass_above;
};

// The digits of the score at which the count, or the mass, from above reaches `wanted`.
template <bool kMasses>
__device__ Threshold FindThreshold(const KeySearch& search, double wanted, const ScoreRange& range, float scale) {
  SelectShared& shared = search.shared;
  uint32_t digits = 0;
  Threshold found = {0, 0, 0};
  int undecided = 32 - __clz(range.best - range.least);  // bits
  while (undecided > 0) {
    const int shift = max(0, undecided - kBinBits);
    for (auto b = static_cast<int>(threadIdx.x); b < kBins; b += kRowThreads) {
      shared.counts[b] = 0;
      shared.masses[b] = 0;
    }
    __syncthreads();
    for (auto j = static_cast<int32_t>(threadIdx.x); j < search.view.length; j += kRowThreads) {
      const int32_t score = search.Score(j);
      const auto key = static_cast<uint32_t>(score - range.least);
      if (key >> undecided != digits) continue;
      const uint32_t bin = key >> shift & ((1u << (undecided - shift)) - 1);
      atomicAdd(&shared.counts[bin], 1u);
      if (kMasses) {
        atomicAdd(&shared.masses[bin],
                  static_cast<unsigned long long>(Weight(range.best - score, scale, search.mass_table)));
      }
    }
    __syncthreads();
    if (threadIdx.x < kWarp) {
      if (kMasses) {
        const unsigned long long before = found.mass_above;
        FindBin(
            shared.masses, [=](unsigned long long sum) { return static_cast<double>(before + sum) >= wanted; },
            &shared.bin, &shared.mass_above);
      } else {
        const uint32_t before = found.count_above;
        FindBin(
            shared.counts, [=](uint32_t sum) { return before + sum >= static_cast<uint32_t>(wanted); }, &shared.bin,
            &shared.count_above);
      }
    }
    __syncthreads();
    digits = digits << (undecided - shift) | shared.bin;
    if (kMasses) {
      found.mass_above += shared.mass_above;
      for (uint32_t b = shared.bin + 1; b < kBins; ++b) found.count_above += shared.counts[b];
    } else {
      found.count_above += shared.count_above;
    }
    undecided = shift;
    __syncthreads();
  }
  found.score = range.least + static_cast<int32_t>(digits);
  return found;
}

// The fewest of the best keys whose weights sum to the rule's share of all.
__device__ inline int32_t KeysForMass(const KeySearch& search, const SelectionRule& rule, const ScoreRange& range,
                                      float scale) {
  SelectShared& shared = search.shared;
  if (threadIdx.x == 0) shared.total = 0;
  __syncthreads();
  unsigned long long sum = 0;
  for (auto j = static_cast<int32_t>(threadIdx.x); j < search.view.length; j += kRowThreads) {
    sum += Weight(range.best - search.Score(j), scale, search.mass_table);
  }
  atomicAdd(&shared.total, sum);
  __syncthreads();
  const double wanted = __dmul_rn(rule.value, static_cast<double>(shared.total));
  if (!(wanted > 0)) return rule.min_keys;
  if (static_cast<double>(shared.total) < wanted) return search.view.length;
  const Threshold threshold = FindThreshold<true>(search, wanted, range, scale);
  // Everything above the threshold, and as many of the equally heavy keys on it as are needed.
  const auto each = static_cast<double>(Weight(range.best - threshold.score, scale, search.mass_table));
  const auto mass = static_cast<double>(threshold.mass_above);
  auto ties = static_cast<int32_t>((wanted - mass) / each);
  while (mass + __dmul_rn(ties, each) < wanted) ++ties;
  return max(static_cast<int32_t>(threshold.count_above) + ties, rule.min_keys);
}

// Hands out the `keep` best, fewer than there are: take(rank by position, position). Each warp looks at a stretch of
// the row of its own, once to count what is before the others' and once to list.
template <typename Take>
__device__ void ListBest(const KeySearch& search, int32_t keep, const ScoreRange& range, const Take& take) {
  if (keep <= 0) return;
  const Threshold threshold = FindThreshold<false>(search, keep, range, 0);
  const int32_t ties = keep - static_cast<int32_t>(threshold.count_above);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int32_t stretch = CeilDiv(search.view.length, kRowThreads) * kWarp;
  const int32_t begin = warp * stretch, end = min(begin + stretch, search.view.length);
  const auto score_of = [&](int32_t j) { return j < end ? search.Score(j) : INT_MIN; };
  int32_t above = 0, equal = 0;
  for (int32_t first = begin; first < end; first += kWarp) {
    const int32_t score = score_of(first + lane);
    above += __popc(__ballot_sync(kAllLanes, score > threshold.score));
    equal += __popc(__ballot_sync(kAllLanes, score == threshold.score));
  }
  int32_t* above_of = search.shared.of_warp;
  int32_t* equal_of = search.shared.of_warp + kRowWarps;
  if (lane == 0) {
    above_of[warp] = above;
    equal_of[warp] = equal;
  }
  __syncthreads();
  above = equal = 0;
  for (int w = 0; w < warp; ++w) {
    above += above_of[w];
    equal += equal_of[w];
  }
  const unsigned lower_lanes = (1u << lane) - 1;
  for (int32_t first = begin; first < end; first += kWarp) {
    const int32_t score = score_of(first + lane);
    const unsigned are_above = __ballot_sync(kAllLanes, score > threshold.score);
    const unsigned are_equal = __ballot_sync(kAllLanes, score == threshold.score);
    const int32_t equal_rank = equal + __popc(are_equal & lower_lanes);
    if (score > threshold.score || (score == threshold.score && equal_rank < ties)) {
      take(above + __popc(are_above & lower_lanes) + min(equal_rank, ties), search.Position(first + lane));
    }
    above += __popc(are_above);
    equal += __popc(are_equal);
  }
}

// By all threads of a block, for a rule that needs scores: hands out the chosen keys, take(rank, position), and returns
// how many they are; or kEveryKey, and hands out none. `i` is the row's place in the call.
template <typename Take>
__device__ int32_t SelectRow(const SelectArgs& args, int32_t i, const SelectionRule& rule, const KeySearch& search,
                             const Take& take) {
  const int32_t width = search.pages.selection_width;
  const float largest = QuantiseQuery(search.shared, args.queries + static_cast<size_t>(i) * width, width);
  const ScoreRange range = ScoreAll(search);
  int32_t keep = KeysToKeep(rule, search.view.length);
  if (rule.policy == SelectionPolicy::kMass) {
    constexpr float kStepsPerE = 1.44269504f * kMassSteps;
    const float scale = largest / 127.0f / args.key_inverse_step / sqrtf(static_cast<float>(width)) * kStepsPerE;
    keep = KeysForMass(search, rule, range, scale);
    __syncthreads();
  }
  if (keep >= search.view.length) return kEveryKey;
  ListBest(search, keep, range, take);
  return max(keep, 0);
}

}  // namespace salient::cuda

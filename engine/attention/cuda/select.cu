// Selection on a CUDA device: int8 scores by dp4a and an exact top-k, one block a row.
//
// Scores are integers of 24 bits. The k-th best is found digit by digit from the top, 8 bits at a time: a histogram of
// the scores that share the digits found so far, and the bin in which the count from above reaches k. That takes three
// passes whatever the scores are, and gives the threshold exactly; a last pass lists, in order of position, the keys
// above it and the first of those on it. kMass finds its k in the same way beforehand, with weights in place of counts;
// both sums are of integers, so the atomics' order does not matter.
//
// Scores of the first `held` keys are kept in shared memory; those of longer rows are computed again in every pass.

#include "engine/attention/cuda/kernels.h"
#include "engine/attention/cuda/pages.h"
#include "engine/attention/cuda/quantise.h"
#include "engine/attention/mass.h"
#include "engine/backend/cuda/language.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kBins = 256;
constexpr int kMostWords = 256;  // of a selection query: ds up to 1024
constexpr int32_t kScoreOffset = 1 << 23;
constexpr int kHeldScores = 10 * 1024;
constexpr float kLeast = 1e-20f;  // kLeastQuery of select_rules.h

// KeysToKeep of select.h.
__device__ int32_t Keep(const SelectionRule& rule, int32_t length) {
  if (rule.kind == SelectionKind::kWindow) {
    const double asked = rule.value < length ? rule.value : length;
    return max(0, min(static_cast<int32_t>(asked), length));
  }
  if (rule.kind != SelectionKind::kFraction) return length;
  const auto share = static_cast<int32_t>(ceil(length * rule.value - 1e-6));
  return min(length, max(rule.min_keys, share));
}

__device__ bool NeedsScores(const SelectionRule& rule, int32_t length) {
  if (rule.kind == SelectionKind::kFraction) return Keep(rule, length) < length;
  return rule.kind == SelectionKind::kMass && rule.min_keys < length;
}

struct Shared {
  int32_t query[kMostWords];
  uint32_t counts[kBins];
  unsigned long long masses[kBins];
  int32_t of_warp[2 * kWarps];
  float largest[kWarps];
  // What the first warp found: the bin, and what lies above it.
  uint32_t bin, count_above;
  unsigned long long mass_above, total;
};

// One row's search, as each of its block's threads sees it.
struct Search {
  Shared& shared;
  int32_t* held;
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
  __device__ int32_t Score(int32_t j) const { return j < kHeldScores ? held[j] : Compute(j); }
};

// MassWeight of mass.h.
__device__ uint32_t Weight(int32_t below, float scale, const uint32_t* table) {
  const float product = static_cast<float>(below) * scale;
  const float steps = product < static_cast<float>(kMassSpan) ? product : static_cast<float>(kMassSpan);
  const auto step = static_cast<int32_t>(steps);
  return step >= kMassSpan ? 0 : table[step % kMassSteps] >> (step / kMassSteps);
}

// Quantises the query into shared memory; returns its largest component.
__device__ float QuantiseQuery(Shared& shared, const float* query, int32_t width) {
  float largest = 0;
  for (auto c = static_cast<int32_t>(threadIdx.x); c < width; c += kThreads) largest = fmaxf(largest, fabsf(query[c]));
  largest = WarpMax(largest);
  if (threadIdx.x % kWarp == 0) shared.largest[threadIdx.x / kWarp] = largest;
  __syncthreads();
  largest = shared.largest[0];
  for (int warp = 1; warp < kWarps; ++warp) largest = fmaxf(largest, shared.largest[warp]);
  const float factor = 127.0f / (largest < kLeast ? kLeast : largest);
  for (auto w = static_cast<int32_t>(threadIdx.x); w < width / 4; w += kThreads) {
    shared.query[w] = QuantiseWord(query + 4 * w, factor);
  }
  __syncthreads();
  return largest;
}

// Fills `held`, and returns the best score of all.
__device__ int32_t ScoreAll(const Search& search) {
  int32_t best = -kScoreOffset;
  for (auto j = static_cast<int32_t>(threadIdx.x); j < search.view.length; j += kThreads) {
    const int32_t score = search.Compute(j);
    if (j < kHeldScores) search.held[j] = score;
    best = max(best, score);
  }
  for (int step = kWarp / 2; step > 0; step /= 2) best = max(best, __shfl_xor_sync(kAllLanes, best, step));
  if (threadIdx.x % kWarp == 0) search.shared.of_warp[threadIdx.x / kWarp] = best;
  __syncthreads();
  for (int warp = 0; warp < kWarps; ++warp) best = max(best, search.shared.of_warp[warp]);
  __syncthreads();
  return best;
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
__device__ Threshold FindThreshold(const Search& search, double wanted, int32_t best, float scale) {
  Shared& shared = search.shared;
  uint32_t digits = 0;
  Threshold found = {0, 0, 0};
  for (int shift = 16; shift >= 0; shift -= 8) {
    for (auto b = static_cast<int>(threadIdx.x); b < kBins; b += kThreads) {
      shared.counts[b] = 0;
      shared.masses[b] = 0;
    }
    __syncthreads();
    for (auto j = static_cast<int32_t>(threadIdx.x); j < search.view.length; j += kThreads) {
      const int32_t score = search.Score(j);
      const auto key = static_cast<uint32_t>(score + kScoreOffset);
      if (key >> shift >> 8 != digits) continue;
      atomicAdd(&shared.counts[key >> shift & 0xff], 1u);
      if (kMasses) {
        atomicAdd(&shared.masses[key >> shift & 0xff],
                  static_cast<unsigned long long>(Weight(best - score, scale, search.mass_table)));
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
    digits = digits << 8 | shared.bin;
    if (kMasses) {
      found.mass_above += shared.mass_above;
      for (uint32_t b = shared.bin + 1; b < kBins; ++b) found.count_above += shared.counts[b];
    } else {
      found.count_above += shared.count_above;
    }
    __syncthreads();
  }
  found.score = static_cast<int32_t>(digits) - kScoreOffset;
  return found;
}

// The fewest of the best keys whose weights sum to the rule's share of all.
__device__ int32_t KeysForMass(const Search& search, const SelectionRule& rule, int32_t best, float scale) {
  Shared& shared = search.shared;
  if (threadIdx.x == 0) shared.total = 0;
  __syncthreads();
  unsigned long long sum = 0;
  for (auto j = static_cast<int32_t>(threadIdx.x); j < search.view.length; j += kThreads) {
    sum += Weight(best - search.Score(j), scale, search.mass_table);
  }
  atomicAdd(&shared.total, sum);
  __syncthreads();
  const double wanted = rule.value * static_cast<double>(shared.total);
  if (!(wanted > 0)) return rule.min_keys;
  if (static_cast<double>(shared.total) < wanted) return search.view.length;
  const Threshold threshold = FindThreshold<true>(search, wanted, best, scale);
  // Everything above the threshold, and as many of the equally heavy keys on it as are needed.
  const auto each = static_cast<double>(Weight(best - threshold.score, scale, search.mass_table));
  const auto mass = static_cast<double>(threshold.mass_above);
  auto ties = static_cast<int32_t>((wanted - mass) / each);
  while (mass + ties * each < wanted) ++ties;
  return max(static_cast<int32_t>(threshold.count_above) + ties, rule.min_keys);
}

// Lists the `keep` best, fewer than there are, by ascending position.
__device__ void ListBest(const Search& search, int32_t keep, int32_t best, KeyList& list) {
  if (keep <= 0) {
    if (threadIdx.x == 0) list.count = 0;
    return;
  }
  const Threshold threshold = FindThreshold<false>(search, keep, best, 0);
  const int32_t ties = keep - static_cast<int32_t>(threshold.count_above);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const unsigned lower_lanes = (1u << lane) - 1;
  int32_t* above_of = search.shared.of_warp;
  int32_t* equal_of = search.shared.of_warp + kWarps;
  int32_t above_before = 0, equal_before = 0;  // in the rounds so far
  for (int32_t first = 0; first < search.view.length; first += kThreads) {
    const int32_t j = first + static_cast<int32_t>(threadIdx.x);
    const int32_t score = j < search.view.length ? search.Score(j) : -kScoreOffset - 1;
    const unsigned above = __ballot_sync(kAllLanes, score > threshold.score);
    const unsigned equal = __ballot_sync(kAllLanes, score == threshold.score);
    if (lane == 0) {
      above_of[warp] = __popc(above);
      equal_of[warp] = __popc(equal);
    }
    __syncthreads();
    int32_t above_rank = above_before, equal_rank = equal_before;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) {
        above_rank += above_of[w];
        equal_rank += equal_of[w];
      }
      above_before += above_of[w];
      equal_before += equal_of[w];
    }
    above_rank += __popc(above & lower_lanes);
    equal_rank += __popc(equal & lower_lanes);
    if (score > threshold.score || (score == threshold.score && equal_rank < ties)) {
      list.positions[above_rank + min(equal_rank, ties)] = search.Position(j);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) list.count = keep;
}

// kWindow, or every key.
__device__ void SelectWithoutScores(const SelectionRule& rule, const KeyView& view, KeyList& list) {
  const int32_t keep = rule.kind == SelectionKind::kWindow ? Keep(rule, view.length) : view.length;
  if (threadIdx.x == 0) list.count = keep >= view.length ? kEveryKey : keep;
  if (keep >= view.length) return;
  const int32_t first = max(0, min(view.centre - keep / 2, view.length - keep));
  for (auto j = static_cast<int32_t>(threadIdx.x); j < keep; j += kThreads) {
    list.positions[j] = view.candidates == nullptr ? first + j : view.candidates[first + j];
  }
}

__global__ void __launch_bounds__(kThreads, 4)
    SelectKernel(SelectArgs args, PagesView pages, const uint32_t* mass_table) {
  WaitForPrevious();
  __shared__ Shared shared;
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i);
  const KeyView view = args.views[row];
  const SelectionRule rule = args.rules[row];
  KeyList& list = args.lists[row];
  if (!NeedsScores(rule, view.length)) {
    SelectWithoutScores(rule, view, list);
    if (threadIdx.x == 0 && args.tallies != nullptr && rule.kind == SelectionKind::kMass) {
      args.tallies[row].scored += view.length;
    }
    return;
  }
  const Search search = {shared, reinterpret_cast<int32_t*>(DynamicShared()), pages, view, mass_table};
  const int32_t width = pages.selection_width;
  const float largest = QuantiseQuery(shared, args.queries + static_cast<size_t>(i) * width, width);
  const int32_t best = ScoreAll(search);
  int32_t keep = Keep(rule, view.length);
  if (rule.kind == SelectionKind::kMass) {
    constexpr float kStepsPerE = 1.44269504f * kMassSteps;
    const float scale = largest / 127.0f / args.key_inverse_step / sqrtf(static_cast<float>(width)) * kStepsPerE;
    keep = KeysForMass(search, rule, best, scale);
    __syncthreads();
  }
  if (keep >= view.length) {
    if (threadIdx.x == 0) list.count = kEveryKey;
  } else {
    ListBest(search, keep, best, list);
  }
  if (threadIdx.x == 0 && args.tallies != nullptr) args.tallies[row].scored += view.length;
}

}  // namespace

void Select(Device& device, const SelectArgs& args, const uint32_t* mass_table) {
  Launch(device,
         {.grid_x = static_cast<unsigned>(args.rows.capacity),
          .threads = kThreads,
          .shared_bytes = kHeldScores * sizeof(int32_t)},
         SelectKernel, args, PagesView(args.store, 0, args.group), mass_table);
}

}  // namespace salient::cuda

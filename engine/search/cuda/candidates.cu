// The best next tokens of a row of logits, and the probability of the best: one pass over the vocabulary.
//
// A row's span are 0, 1, 2, ...: the vocabulary's tokens or, where the row has a list, the list's, ascending either
// way. A part of 2,048 places of it is one block's, whose threads hold eight logits each: two loads of 16 bytes that
// nothing waits for. From registers the block takes its largest logit, its sum of exponentials and its best allowed
// tokens, round by round (larger logit, then lower place). The block of a row that is done last merges the parts'
// results in the order of the parts. The division follows from the length of the row's span alone, and so does the
// order of every sum.
//
// A vocabulary of 32,000 is 16 blocks a row: one row, 128 KB, is on its way at once; 64 rows are 8.2 MB, 2.5 us at 3.35
// TB/s. With one block a row, threads read 125 logits each in three passes, one 4-byte load after another. Between
// blocks go 8 bytes a part and 8 bytes a candidate of each part.

#include <cstdint>

#include "engine/core/cuda/language.h"
#include "engine/search/constraint.h"
#include "engine/search/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kEach = 8;                 // places of a thread
constexpr int kGroup = 4;                // consecutive places, one load
constexpr int kPart = kThreads * kEach;  // places of a block
constexpr int kNoPlace = 0x7fffffff;

// The logits of one row as span.
struct LogitSpan {
  const float* logits;
  const TokenList* list;  // null: the vocabulary
  int32_t count;
  bool compact;

  __device__ int32_t Token(int32_t place) const { return list == nullptr ? place : list->tokens[place]; }
  __device__ bool Consecutive() const { return list == nullptr || compact; }
  __device__ float Logit(int32_t place) const { return logits[compact ? place : Token(place)]; }
};

__device__ LogitSpan SpanOf(const Logits& logits, int i, int row) {
  const TokenList* list = logits.lists == nullptr ? nullptr : logits.lists[row];
  return {logits.values + static_cast<size_t>(i) * logits.width, list, list == nullptr ? logits.width : list->count,
          logits.compact};
}

// A place and its logit, in the order in which candidates are taken: a larger logit first, then a lower place.
struct Best {
  float logit;
  int32_t place;
};

__device__ Best NoBest() { return {-INFINITY, kNoPlace}; }  // comes after every place
__device__ Best BeforeAll() { return {INFINITY, -1}; }

__device__ bool Before(const Best& a, const Best& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.place < b.place);
}

// What exponentials are taken relative to, and their sum.
struct Softmax {
  float largest, sum;
};

struct Scratch {
  Best best[kWarps];
  float sums[kWarps];
  int32_t done;
};

// Each of these three: the block's, to every thread; the scratch may be used again after the next barrier.
__device__ Best BlockBest(Best best, Scratch& scratch) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const Best other = {__shfl_xor_sync(kAllLanes, best.logit, step), __shfl_xor_sync(kAllLanes, best.place, step)};
    if (Before(other, best)) best = other;
  }
  if (threadIdx.x % kWarp == 0) scratch.best[threadIdx.x / kWarp] = best;
  __syncthreads();
  best = scratch.best[0];
  for (int warp = 1; warp < kWarps; ++warp) {
    if (Before(scratch.best[warp], best)) best = scratch.best[warp];
  }
  __syncthreads();
  return best;
}

__device__ float BlockMax(float value, Scratch& scratch) { return BlockBest({value, 0}, scratch).logit; }

__device__ float BlockSum(float value, Scratch& scratch) {
  value = WarpSum(value);
  if (threadIdx.x % kWarp == 0) scratch.sums[threadIdx.x / kWarp] = value;
  __syncthreads();
  float sum = scratch.sums[0];
  for (int warp = 1; warp < kWarps; ++warp) sum += scratch.sums[warp];
  __syncthreads();
  return sum;
}

// A thread's logits of a part: groups of consecutive places, a block's groups side by side.
struct Held {
  int32_t first;  // place of values[0]
  float values[kEach];

  __device__ int32_t Place(int e) const { return first + e / kGroup * (kThreads * kGroup) + e % kGroup; }
  // The thread that holds a place.
  static __device__ int Owner(int32_t place) { return place % kPart % (kThreads * kGroup) / kGroup; }

  __device__ Held(const LogitSpan& span, int32_t part)
      : first(part * kPart + static_cast<int32_t>(threadIdx.x) * kGroup) {
    const bool wide = span.Consecutive() && reinterpret_cast<uintptr_t>(span.logits) % sizeof(float4) == 0;
#pragma unroll
    for (int e = 0; e < kEach; e += kGroup) {
      const int32_t place = Place(e);
      if (wide && place + kGroup <= span.count) {
        const float4 word = *reinterpret_cast<const float4*>(span.logits + place);
        values[e] = word.x;
        values[e + 1] = word.y;
        values[e + 2] = word.z;
        values[e + 3] = word.w;
        continue;
      }
#pragma unroll
      for (int c = 0; c < kGroup; ++c) values[e + c] = place + c < span.count ? span.Logit(place + c) : -INFINITY;
    }
  }
};

// A place that is not there counts as one of logit -inf, which adds nothing.
__device__ Softmax PartSoftmax(const Held& held, Scratch& scratch) {
  float own = -INFINITY;
#pragma unroll
  for (int e = 0; e < kEach; ++e) own = fmaxf(own, held.values[e]);
  const float largest = BlockMax(own, scratch);
  float sum = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) sum += held.values[e] == -INFINITY ? 0.0f : expf(held.values[e] - largest);
  return {largest, BlockSum(sum, scratch)};
}

// Calls take(k, k-th best) for the `width` best of what the threads have, by all threads. `own`: the thread's best;
// `next(best)`: the thread's best after the one that was taken, asked of `owner(best)` alone.
template <typename Owner, typename Next, typename Take>
__device__ void TakeBest(int32_t width, Best own, Scratch& scratch, const Owner& owner, const Next& next,
                         const Take& take) {
  for (int32_t k = 0; k < width; ++k) {
    const Best best = BlockBest(own, scratch);
    if (threadIdx.x == 0) take(k, best);
    if (best.place != kNoPlace && owner(best) == static_cast<int>(threadIdx.x)) own = next(best);
  }
}

// Best allowed tokens of a part.
template <typename Take>
__device__ void PartCandidates(const CandidatesArgs& args, const LogitSpan& span, const TokenConstraint& constraint,
                               const Held& held, Scratch& scratch, const Take& take) {
  const auto next = [&](const Best& taken) {
    Best best = NoBest();
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const Best one = {held.values[e], held.Place(e)};
      if (one.place < span.count && Before(one, best) && Before(taken, one) &&
          TakenFor(constraint, args.special, span.Token(one.place)) >= 0) {
        best = one;
      }
    }
    return best;
  };
  TakeBest(
      args.width, next(BeforeAll()), scratch, [](const Best& best) { return Held::Owner(best.place); }, next, take);
}

// Where the parts of row i of a call leave what they find.
struct RowParts {
  Softmax* softmax;  // [parts]
  Best* best;        // [parts, width]
  int32_t parts, width;

  __device__ RowParts(const CandidateSpace& space, int32_t i, int32_t row_parts, int32_t vocabulary, int32_t candidates)
      : parts(row_parts), width(candidates) {
    const int32_t most = CeilDiv(vocabulary, kPart);
    softmax = reinterpret_cast<Softmax*>(space.parts) + static_cast<size_t>(i) * most * (1 + width);
    best = reinterpret_cast<Best*>(softmax + most);
  }
};
static_assert(sizeof(Softmax) == sizeof(Best) && sizeof(Best) == 8);

// By all threads, after a block has left its part: whether it was the row's last. Then all parts can be read.
__device__ bool IsLast(const CandidateSpace& space, int32_t i, int32_t parts, Scratch& scratch) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) scratch.done = atomicAdd(&space.done[i], 1) + 1;
  __syncthreads();
  if (scratch.done != parts) return false;
  __threadfence();
  if (threadIdx.x == 0) space.done[i] = 0;
  return true;
}

__device__ Softmax MergeSoftmax(const RowParts& row, Scratch& scratch) {
  float own = -INFINITY;
  for (auto p = static_cast<int32_t>(threadIdx.x); p < row.parts; p += kThreads)
    own = fmaxf(own, row.softmax[p].largest);
  const float largest = BlockMax(own, scratch);
  float sum = 0;
  for (auto p = static_cast<int32_t>(threadIdx.x); p < row.parts; p += kThreads) {
    sum += row.softmax[p].sum * expf(row.softmax[p].largest - largest);
  }
  return {largest, BlockSum(sum, scratch)};
}

// A thread has the lists of parts t, t + 256, ..., each sorted.
template <typename Take>
__device__ void MergeCandidates(const RowParts& row, Scratch& scratch, const Take& take) {
  const auto next = [&](const Best& taken) {
    Best best = NoBest();
    for (auto p = static_cast<int32_t>(threadIdx.x); p < row.parts; p += kThreads) {
      for (int32_t k = 0; k < row.width; ++k) {
        const Best one = row.best[p * row.width + k];
        if (!Before(taken, one)) continue;
        if (Before(one, best)) best = one;
        break;
      }
    }
    return best;
  };
  TakeBest(
      row.width, next(BeforeAll()), scratch, [](const Best& best) { return best.place / kPart % kThreads; }, next,
      take);
}

// Block (i, p) is part p of row i of the call.
__global__ void __launch_bounds__(kThreads) CandidatesKernel(CandidatesArgs args, CandidateSpace space) {
  WaitForPrevious();
  __shared__ Scratch scratch;
  const auto i = static_cast<int32_t>(blockIdx.x), part = static_cast<int32_t>(blockIdx.y);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i);
  const LogitSpan span = SpanOf(args.logits, i, row);
  const int32_t parts = CeilDiv(span.count, kPart);
  if (part >= parts) return;
  const Held held(span, part);
  const TokenConstraint constraint = args.constraints[row];
  Softmax softmax = PartSoftmax(held, scratch);
  Candidate* candidates = args.candidates + static_cast<size_t>(row) * args.width;
  float total = 0;
  int32_t taken = 0;
  const auto tell = [&](int32_t k, const Best& best) {
    if (best.place != kNoPlace) {
      AppendTaken(constraint, args.special, {span.Token(best.place), best.logit - total}, candidates, taken);
    }
    for (; k + 1 == args.width && taken < args.width; ++taken) candidates[taken] = {-1, -INFINITY};
  };
  if (parts == 1) {
    total = softmax.largest + logf(softmax.sum);
    return PartCandidates(args, span, constraint, held, scratch, tell);
  }
  const RowParts of_row(space, i, parts, args.logits.width, args.width);
  if (threadIdx.x == 0) of_row.softmax[part] = softmax;
  PartCandidates(args, span, constraint, held, scratch,
                 [&](int32_t k, const Best& best) { of_row.best[part * args.width + k] = best; });
  if (!IsLast(space, i, parts, scratch)) return;
  softmax = MergeSoftmax(of_row, scratch);
  total = softmax.largest + logf(softmax.sum);
  MergeCandidates(of_row, scratch, tell);
}

// The same blocks.
__global__ void __launch_bounds__(kThreads) TopProbabilityKernel(TopProbabilityArgs args, CandidateSpace space) {
  WaitForPrevious();
  __shared__ Scratch scratch;
  const auto i = static_cast<int32_t>(blockIdx.x), part = static_cast<int32_t>(blockIdx.y);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i);
  const LogitSpan span = SpanOf(args.logits, i, row);
  const int32_t parts = CeilDiv(span.count, kPart);
  if (part >= parts) return;
  Softmax softmax = PartSoftmax(Held(span, part), scratch);
  if (parts > 1) {
    const RowParts of_row(space, i, parts, args.logits.width, 0);
    if (threadIdx.x == 0) of_row.softmax[part] = softmax;
    if (!IsLast(space, i, parts, scratch)) return;
    softmax = MergeSoftmax(of_row, scratch);
  }
  if (threadIdx.x != 0) return;
  const float top = softmax.sum > 0 ? 1.0f / softmax.sum : NAN;
  args.probability[row] = args.lower ? fminf(args.probability[row], top) : top;
}

LaunchShape Shape(const Rows& rows, const Logits& logits) {
  return {.grid_x = static_cast<unsigned>(rows.capacity),
          .grid_y = static_cast<unsigned>(CeilDiv(logits.width, kPart)),
          .threads = kThreads};
}

}  // namespace

size_t CandidatePartBytes(int32_t rows, const Logits& logits, int32_t width) {
  return static_cast<size_t>(rows) * CeilDiv(logits.width, kPart) * (sizeof(Softmax) + width * sizeof(Best));
}

void Candidates(Device& device, const CandidatesArgs& args, const CandidateSpace& space) {
  Launch(device, Shape(args.rows, args.logits), CandidatesKernel, args, space);
}

void TopProbability(Device& device, const TopProbabilityArgs& args, const CandidateSpace& space) {
  Launch(device, Shape(args.rows, args.logits), TopProbabilityKernel, args, space);
}

}  // namespace salient::cuda

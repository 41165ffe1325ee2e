// The best next tokens of a row of logits: one block a row.
//
// A row's span are 0, 1, 2, ...: the vocabulary's tokens or, where the row has a list, the list's, ascending either
// way. Thread t owns the span t, t + 256, ... and remembers its best allowed one that is not taken yet. A round takes
// the best of all threads' (larger logit, then lower place) and only its owner looks through its own span again. The
// sum of exponentials is taken in an order that the number of span alone fixes.

#include "engine/core/cuda/language.h"
#include "engine/search/constraint.h"
#include "engine/search/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kNoPlace = 0x7fffffff;

// The logits of one row as span.
struct LogitSpan {
  const float* logits;
  const TokenList* list;  // null: the vocabulary
  int32_t count;
  bool compact;

  __device__ int32_t Token(int32_t place) const { return list == nullptr ? place : list->tokens[place]; }
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

// Comes after every place.
__device__ Best NoBest() { return {-INFINITY, kNoPlace}; }

__device__ bool Before(const Best& a, const Best& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.place < b.place);
}

__device__ Best WarpBest(Best best) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const Best other = {__shfl_xor_sync(kAllLanes, best.logit, step), __shfl_xor_sync(kAllLanes, best.place, step)};
    if (Before(other, best)) best = other;
  }
  return best;
}

// Every thread gets the block's best. `scratch` [kWarps] may be used again after the next barrier.
__device__ Best BlockBest(Best best, Best* scratch) {
  best = WarpBest(best);
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = best;
  __syncthreads();
  best = scratch[0];
  for (int warp = 1; warp < kWarps; ++warp) {
    if (Before(scratch[warp], best)) best = scratch[warp];
  }
  __syncthreads();
  return best;
}

__device__ float BlockSum(float value, float* scratch) {
  value = WarpSum(value);
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = value;
  __syncthreads();
  float sum = scratch[0];
  for (int warp = 1; warp < kWarps; ++warp) sum += scratch[warp];
  __syncthreads();
  return sum;
}

// The best of this thread's allowed span after `taken` in the order of Best.
__device__ Best OwnBest(const CandidatesArgs& args, const LogitSpan& span, const TokenConstraint& constraint,
                        const Best& taken) {
  Best best = NoBest();
  for (int32_t place = static_cast<int32_t>(threadIdx.x); place < span.count; place += kThreads) {
    const Best one = {span.Logit(place), place};
    if (Before(one, best) && Before(taken, one) && IsAllowed(constraint, args.special, span.Token(place))) best = one;
  }
  return best;
}

// What the exponentials are taken relative to, and their sum. Every thread gets both.
struct Softmax {
  float largest, sum;
};

__device__ Softmax BlockSoftmax(const LogitSpan& span, Best* best_scratch, float* scratch) {
  Best best = NoBest();
  for (int32_t place = static_cast<int32_t>(threadIdx.x); place < span.count; place += kThreads) {
    const Best one = {span.Logit(place), place};
    if (Before(one, best)) best = one;
  }
  const float largest = BlockBest(best, best_scratch).logit;
  float sum = 0;
  for (int32_t place = static_cast<int32_t>(threadIdx.x); place < span.count; place += kThreads) {
    sum += expf(span.Logit(place) - largest);
  }
  return {largest, BlockSum(sum, scratch)};
}

__global__ void __launch_bounds__(kThreads) CandidatesKernel(CandidatesArgs args) {
  WaitForPrevious();
  __shared__ Best best_scratch[kWarps];
  __shared__ float scratch[kWarps];
  const int i = static_cast<int>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int row = RowAt(args.rows, i);
  const LogitSpan span = SpanOf(args.logits, i, row);
  const TokenConstraint constraint = args.constraints[row];
  const Softmax softmax = BlockSoftmax(span, best_scratch, scratch);
  const float total = softmax.largest + logf(softmax.sum);

  Best own = OwnBest(args, span, constraint, {INFINITY, -1});
  for (int32_t k = 0; k < args.width; ++k) {
    const Best best = BlockBest(own, best_scratch);
    const bool none = best.place == kNoPlace;
    if (threadIdx.x == 0) {
      args.candidates[static_cast<size_t>(row) * args.width + k] =
          none ? Candidate{-1, -INFINITY} : Candidate{span.Token(best.place), best.logit - total};
    }
    if (!none && best.place % kThreads == static_cast<int>(threadIdx.x)) own = OwnBest(args, span, constraint, best);
  }
}

__global__ void __launch_bounds__(kThreads) TopProbabilityKernel(TopProbabilityArgs args) {
  WaitForPrevious();
  __shared__ Best best_scratch[kWarps];
  __shared__ float scratch[kWarps];
  const int i = static_cast<int>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int row = RowAt(args.rows, i);
  const Softmax softmax = BlockSoftmax(SpanOf(args.logits, i, row), best_scratch, scratch);
  if (threadIdx.x != 0) return;
  const float top = 1.0f / softmax.sum;
  args.probability[row] = args.lower ? fminf(args.probability[row], top) : top;
}

}  // namespace

void Candidates(Device& device, const CandidatesArgs& args) {
  Launch(device, {.grid_x = static_cast<unsigned>(args.rows.capacity), .threads = kThreads}, CandidatesKernel, args);
}

void TopProbability(Device& device, const TopProbabilityArgs& args) {
  Launch(device, {.grid_x = static_cast<unsigned>(args.rows.capacity), .threads = kThreads}, TopProbabilityKernel,
         args);
}

}  // namespace salient::cuda

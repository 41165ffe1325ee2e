// The best next tokens on the CPU: rows of logits divided among the threads.

#include <cmath>
#include <cstdint>

#include "engine/base/parallel.h"
#include "engine/search/candidates.h"
#include "engine/search/constraint.h"
#include "engine/search/kernels.h"

namespace salient {
namespace {

void FindCandidates(const CandidatesArgs& args, const SearchKernels& kernels, int64_t i) {
  const int64_t row = args.rows[static_cast<int32_t>(i)];
  const float* logits = args.logits + i * args.vocabulary;
  Candidate* candidates = args.candidates + row * args.width;
  const TokenConstraint& constraint = args.constraints[row];
  int32_t count = 0;
  if (constraint.forced < 0) {
    count = kernels.best(logits, args.vocabulary, constraint, args.special, args.width, candidates);
  } else if (constraint.forced < args.vocabulary && args.width > 0) {
    candidates[count++] = {constraint.forced, logits[constraint.forced]};
  }
  const float largest = kernels.largest(logits, args.vocabulary);
  const float total = largest + std::log(kernels.sum_exp(logits, args.vocabulary, largest));
  for (int32_t k = 0; k < args.width; ++k) {
    if (k < count) {
      candidates[k].log_probability -= total;
    } else {
      candidates[k] = kNoCandidate;
    }
  }
}

}  // namespace

void CandidatesCpu(const CandidatesArgs& args, ThreadPool& pool) {
  const SearchKernels& kernels = SearchKernelsFor(DetectCpuIsa());
  ParallelRanges(pool, args.rows.size(), int64_t{args.vocabulary} * 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) FindCandidates(args, kernels, i);
  });
}

void TopProbabilityCpu(const TopProbabilityArgs& args, ThreadPool& pool) {
  const SearchKernels& kernels = SearchKernelsFor(DetectCpuIsa());
  ParallelRanges(pool, args.rows.size(), int64_t{args.vocabulary} * 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* logits = args.logits + i * args.vocabulary;
      const float largest = kernels.largest(logits, args.vocabulary);
      args.probability[args.rows[static_cast<int32_t>(i)]] = 1.0f / kernels.sum_exp(logits, args.vocabulary, largest);
    }
  });
}

}  // namespace salient

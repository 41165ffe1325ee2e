// The best next tokens by sorting, probabilities in double precision: the oracle.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/search/candidates.h"
#include "engine/search/constraint.h"

namespace salient {
namespace {

// log sum_v exp(logits[v])
double LogSumExp(const float* logits, int32_t vocabulary) {
  const double largest = *std::max_element(logits, logits + vocabulary);
  double sum = 0;
  for (int32_t v = 0; v < vocabulary; ++v) sum += std::exp(logits[v] - largest);
  return largest + std::log(sum);
}

}  // namespace

void CandidatesReference(const CandidatesArgs& args) {
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const float* logits = args.logits + static_cast<size_t>(i) * args.vocabulary;
    Candidate* candidates = args.candidates + static_cast<size_t>(row) * args.width;
    std::vector<int32_t> allowed;
    for (int32_t token = 0; token < args.vocabulary; ++token) {
      if (IsAllowed(args.constraints[row], args.special, token)) allowed.push_back(token);
    }
    std::stable_sort(allowed.begin(), allowed.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
    const double total = LogSumExp(logits, args.vocabulary);
    for (int32_t k = 0; k < args.width; ++k) {
      candidates[k] = kNoCandidate;
      if (k >= static_cast<int32_t>(allowed.size())) continue;
      candidates[k] = {allowed[k], static_cast<float>(logits[allowed[k]] - total)};
    }
  }
}

void TopProbabilityReference(const TopProbabilityArgs& args) {
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const float* logits = args.logits + static_cast<size_t>(i) * args.vocabulary;
    const double largest = *std::max_element(logits, logits + args.vocabulary);
    args.probability[args.rows[i]] = static_cast<float>(std::exp(largest - LogSumExp(logits, args.vocabulary)));
  }
}

}  // namespace salient

// The best next tokens by sorting, probabilities in double precision: the oracle.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/search/candidates.h"
#include "engine/search/constraint.h"

namespace salient {
namespace {

struct Scored {
  int32_t token;
  float logit;
};

// The tokens of row i (those of its list, or the vocabulary), in ascending order.
std::vector<Scored> TokensOf(const Logits& logits, const Rows& rows, int32_t i) {
  const float* values = logits.values + static_cast<size_t>(i) * logits.width;
  const TokenList* list = logits.lists == nullptr ? nullptr : logits.lists[rows[i]];
  std::vector<Scored> scored;
  if (list == nullptr) {
    for (int32_t token = 0; token < logits.width; ++token) scored.push_back({token, values[token]});
    return scored;
  }
  for (int32_t j = 0; j < list->count; ++j) {
    const int32_t token = list->tokens[j];
    scored.push_back({token, values[logits.compact ? j : token]});
  }
  return scored;
}

// log sum_v exp(logit_v)
double LogSumExp(const std::vector<Scored>& scored) {
  double largest = scored[0].logit, sum = 0;
  for (const Scored& one : scored) largest = std::max<double>(largest, one.logit);
  for (const Scored& one : scored) sum += std::exp(one.logit - largest);
  return largest + std::log(sum);
}

}  // namespace

void CandidatesReference(const CandidatesArgs& args) {
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const std::vector<Scored> scored = TokensOf(args.logits, args.rows, i);
    const double total = LogSumExp(scored);
    std::vector<Scored> allowed;
    for (const Scored& one : scored) {
      if (TakenFor(args.constraints[row], args.special, one.token) >= 0) allowed.push_back(one);
    }
    std::stable_sort(allowed.begin(), allowed.end(),
                     [](const Scored& a, const Scored& b) { return a.logit > b.logit; });
    Candidate* candidates = args.candidates + static_cast<size_t>(row) * args.width;
    int32_t count = 0;
    for (size_t k = 0; k < std::min<size_t>(args.width, allowed.size()); ++k) {
      const Candidate best = {allowed[k].token, static_cast<float>(allowed[k].logit - total)};
      AppendTaken(args.constraints[row], args.special, best, candidates, count);
    }
    std::fill(candidates + count, candidates + args.width, kNoCandidate);
  }
}

void TopProbabilityReference(const TopProbabilityArgs& args) {
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const std::vector<Scored> scored = TokensOf(args.logits, args.rows, i);
    double largest = scored[0].logit;
    for (const Scored& one : scored) largest = std::max<double>(largest, one.logit);
    const auto top = static_cast<float>(std::exp(largest - LogSumExp(scored)));
    float& probability = args.probability[args.rows[i]];
    probability = args.lower ? std::min(probability, top) : top;
  }
}

}  // namespace salient

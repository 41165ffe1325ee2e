// The best next tokens on the CPU: rows of logits divided among the threads.
//
// Kernels see a row as indices 0, 1, 2, ... with one logit each. For a row with a token list an index is a place in
// that list. Lists ascend, so ties are resolved in favour of the same token.

#include "engine/search/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/base/parallel.h"
#include "engine/search/constraint.h"
#include "engine/search/cpu/kernels.h"
#include "engine/search/cpu/operations.h"

namespace salient {
namespace {

struct Places {
  const float* logits = nullptr;
  int32_t count = 0;
  const TokenList* list = nullptr;  // null: place and token are the same

  int32_t TokenAt(int32_t place) const { return list == nullptr ? place : list->tokens[place]; }
  // -1 if the list does not have the token.
  int32_t PlaceOf(int32_t token) const {
    if (list == nullptr) return token < count ? token : -1;
    const int32_t* end = list->tokens + list->count;
    const int32_t* found = std::lower_bound(list->tokens, end, token);
    return found != end && *found == token ? static_cast<int32_t>(found - list->tokens) : -1;
  }
};

// Valid until the thread's next call.
Places PlacesOf(const Logits& logits, const Rows& rows, int64_t i) {
  const float* values = logits.values + i * logits.width;
  const TokenList* list = logits.lists == nullptr ? nullptr : logits.lists[rows[static_cast<int32_t>(i)]];
  if (list == nullptr || logits.compact) return {values, logits.width, list};
  thread_local std::vector<float> gathered;
  gathered.resize(list->count);
  for (int32_t j = 0; j < list->count; ++j) gathered[j] = values[list->tokens[j]];
  return {gathered.data(), list->count, list};
}

// The constraints, as indices. A list's markers have consecutive indices, though some markers may be missing.
struct PlaceRules {
  SpecialTokens special;
  TokenConstraint constraint;
};

PlaceRules RulesOf(const Places& places, const SpecialTokens& special, const TokenConstraint& constraint) {
  PlaceRules rules{
      {places.PlaceOf(special.pad), places.PlaceOf(special.unknown), places.PlaceOf(special.begin),
       places.PlaceOf(special.end), places.PlaceOf(special.separator), special.first_marker, special.markers},
      constraint};
  if (places.list == nullptr || special.markers == 0) return rules;
  const int32_t *begin = places.list->tokens, *end = begin + places.list->count;
  const int32_t* first = std::lower_bound(begin, end, special.first_marker);
  rules.special.first_marker = static_cast<int32_t>(first - begin);
  rules.special.markers = 0;
  rules.constraint.markers = 0;
  for (; first != end && special.MarkerOf(*first) >= 0; ++first) {
    const uint32_t allowed = constraint.markers >> special.MarkerOf(*first) & 1;
    rules.constraint.markers |= allowed << rules.special.markers++;
  }
  return rules;
}

void FindCandidates(const CandidatesArgs& args, const SearchKernels& kernels, int64_t i) {
  const int64_t row = args.rows[static_cast<int32_t>(i)];
  const Places places = PlacesOf(args.logits, args.rows, i);
  Candidate* candidates = args.candidates + row * args.width;
  const TokenConstraint& constraint = args.constraints[row];
  int32_t count = 0;
  if (constraint.forced < 0) {
    const PlaceRules rules = RulesOf(places, args.special, constraint);
    count = kernels.best(places.logits, places.count, rules.constraint, rules.special, args.width, candidates);
  } else if (const int32_t place = places.PlaceOf(constraint.forced); place >= 0 && args.width > 0) {
    candidates[count++] = {place, places.logits[place]};
  }
  const float largest = kernels.largest(places.logits, places.count);
  const float total = largest + std::log(kernels.sum_exp(places.logits, places.count, largest));
  int32_t taken = 0;
  for (int32_t k = 0; k < count; ++k) {
    const Candidate best = {places.TokenAt(candidates[k].token), candidates[k].log_probability - total};
    AppendTaken(constraint, args.special, best, candidates, taken);
  }
  std::fill(candidates + taken, candidates + args.width, kNoCandidate);
}

}  // namespace

void CandidatesCpu(const CandidatesArgs& args, ThreadPool& pool) {
  const SearchKernels& kernels = SearchKernelsFor(DetectCpuIsa());
  ParallelRanges(pool, args.rows.size(), int64_t{args.logits.width} * 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) FindCandidates(args, kernels, i);
  });
}

void TopProbabilityCpu(const TopProbabilityArgs& args, ThreadPool& pool) {
  const SearchKernels& kernels = SearchKernelsFor(DetectCpuIsa());
  ParallelRanges(pool, args.rows.size(), int64_t{args.logits.width} * 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Places places = PlacesOf(args.logits, args.rows, i);
      const float largest = kernels.largest(places.logits, places.count);
      const float top = 1.0f / kernels.sum_exp(places.logits, places.count, largest);
      float& probability = args.probability[args.rows[static_cast<int32_t>(i)]];
      probability = args.lower ? std::min(probability, top) : top;
    }
  });
}

}  // namespace salient

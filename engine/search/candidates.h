// The output side of a step: from logits to the most probable next tokens.

#pragma once

#include <cstdint>

#include "engine/backend/rows.h"

namespace salient {

class ThreadPool;

// Which next tokens a row may take.
struct TokenConstraint {
  int32_t forced = -1;  // only this token; -1: free
  bool allow_separator = true;
  bool allow_end = true;
};

struct SpecialTokens {
  int32_t pad = 0, unknown = 1, begin = 2, end = 3, separator = 4;
};

struct Candidate {
  int32_t token = 0;
  float log_probability = 0;  // over the whole vocabulary, constraints apart
};

// The `width` best allowed tokens of each row, best first, ties to the lower token. pad, unknown and begin are never
// allowed. Where fewer than `width` tokens are allowed the rest have token -1.
struct CandidatesArgs {
  Rows rows;
  const float* logits = nullptr;  // [rows.capacity, vocabulary]; row i belongs to rows[i]
  int32_t vocabulary = 0;
  SpecialTokens special;
  const TokenConstraint* constraints = nullptr;  // [.] by row number
  int32_t width = 1;
  Candidate* candidates = nullptr;  // [., width] by row number
};

// max_v softmax(logits)_v of each row: what the confidence policy compares. Written by row number.
struct TopProbabilityArgs {
  Rows rows;
  const float* logits = nullptr;  // [rows.capacity, vocabulary]
  int32_t vocabulary = 0;
  float* probability = nullptr;  // [.] by row number
};

void CandidatesReference(const CandidatesArgs& args);
void TopProbabilityReference(const TopProbabilityArgs& args);

void CandidatesCpu(const CandidatesArgs& args, ThreadPool& pool);
void TopProbabilityCpu(const TopProbabilityArgs& args, ThreadPool& pool);

}  // namespace salient

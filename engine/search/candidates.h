// The output side of a step: from logits to the most probable next tokens.

#pragma once

#include <cstdint>

#include "engine/core/rows.h"
#include "engine/core/special_tokens.h"

namespace salient {

// The output bias of a token that a model suppresses: large enough that its probability is 0.
inline constexpr float kSuppressed = -1e9f;

// Which next tokens a row may take.
struct TokenConstraint {
  int32_t forced = -1;  // only this token; -1: free
  bool allow_separator = true;
  bool allow_end = true;
  uint32_t markers = 0;  // bit m: marker m (SpecialTokens::first_marker + m)
  // The marker that a row takes where it would rather close its segment, which is not allowed yet; -1: none.
  int32_t stand_in = -1;
};

struct Candidate {
  int32_t token = 0;
  // Over the vocabulary, or the row's list; constraints apart. Of a stand-in the greatest of its own and of those that
  // it stands in for. Of a token that is forced though the model suppresses it, such as a language's, 0: it is given.
  float log_probability = 0;
};

// The tokens that a row may choose among, where it is not the whole vocabulary: its chunk's shortlist. In device
// memory.
struct TokenList {
  const int32_t* tokens = nullptr;  // [count] ascending
  int32_t count = 0;                // 1 or more
};

// Logits of rows, over the vocabulary or over lists.
//
// A row with a list is as if the vocabulary had no other tokens: nothing else of its logits is read. Its sums are taken
// over the list's tokens in their order, however its logits lie, so that both layouts give the same bits.
struct Logits {
  const float* values = nullptr;            // [rows.capacity, width]; row i belongs to rows[i]
  int32_t width = 0;                        // the vocabulary; compact: how many tokens each row's list has
  const TokenList* const* lists = nullptr;  // [.] by row number, null for a row: all tokens; null: no row has a list
  bool compact = false;                     // value j of a row is of token j of its list; each row has one
};

// The `width` best allowed tokens of each row, best first, ties to the lower token. pad, unknown and begin, unless it
// is the end, are never allowed, nor is a token that a list lacks. Where fewer than `width` tokens are allowed, or some
// of the best come down to one that stands in for them, the rest have token -1.
struct CandidatesArgs {
  Rows rows;
  Logits logits;
  SpecialTokens special;
  const TokenConstraint* constraints = nullptr;  // [.] by row number
  int32_t width = 1;
  Candidate* candidates = nullptr;  // [., width] by row number
};

// max_v softmax(logits)_v of each row: what the confidence policy compares. Written by row number.
struct TopProbabilityArgs {
  Rows rows;
  Logits logits;
  float* probability = nullptr;  // [.] by row number
  bool lower = false;            // what is there stays where it is smaller
};

void CandidatesReference(const CandidatesArgs& args);
void TopProbabilityReference(const TopProbabilityArgs& args);

}  // namespace salient

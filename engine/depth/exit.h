// Adaptive depth in a step: which rows leave after a layer, and which skipped positions a layer must still fill
// (arXiv 1910.10073). Layers are counted from 1 here: a row that exits at n ran layers 1 .. n.

#pragma once

#include <cstdint>

#include "engine/core/keys.h"
#include "engine/core/kv_store.h"
#include "engine/core/rows.h"

namespace salient {

inline constexpr int kMaxLayers = 64;

enum class ExitKind : int32_t {
  kAt,           // after layer `at`: full, fixed, and sequence and multinomial once decided
  kSequence,     // eq. 8: decided once, from the mean of the encoder's output
  kMultinomial,  // eq. 11: decided a token, after layer 1
  kGeometric,    // eq. 12, 13: at the first n with sigmoid(signal) > threshold[n - 1]
  kConfidence,   // at the first n with signal > threshold[n - 1]
};

// A request's depth, resolved; kernels read it by row.
struct ExitRule {
  ExitKind kind = ExitKind::kAt;
  int32_t at = 0;
  int32_t least = 1, greatest = 0;  // no row exits below `least` or runs a layer above `greatest`
  float threshold[kMaxLayers] = {};
};

// Splits the active rows after layer n. A row leaves if its rule says so, or at `greatest`.
struct DecideExitsArgs {
  Rows active;
  int32_t layer = 0;                // n
  const ExitRule* rules = nullptr;  // [.] by row number
  const float* signal = nullptr;    // [.] by row number: halting logit, or top probability; unread by kAt
  int32_t* exit_at = nullptr;       // [.] by row number; out: n where the row leaves
  int32_t* staying = nullptr;       // [active.capacity] out: rows that go on, ascending; not the array of `active`
  int32_t* staying_count = nullptr;
};

// A row's exit by the arg max of a halting head's logits, lowest n on ties, clamped to the rule's bounds: the rule
// becomes kAt. Rows of another kind are left alone.
struct ResolveExitsArgs {
  Rows rows;
  ExitKind kind = ExitKind::kMultinomial;
  const float* logits = nullptr;  // [rows.capacity, layers]; row i belongs to rows[i]
  int32_t layers = 0;
  const ExitRule* rules = nullptr;  // [.] by row number
  ExitRule* resolved = nullptr;     // [.] by row number, may be `rules`
};

// Lists some of the rows, in their order: with `held_at` those that run the layer after n, which are those that were
// held at n or lower and have not left; with `exit_at` alone those that left after layer n; with neither those whose
// rule compares the confidence after layer n.
struct PickRowsArgs {
  Rows rows;
  int32_t layer = 0;                 // n; with `held_at` 0 is before the first layer
  const int32_t* held_at = nullptr;  // [.] by row number: the layers that the row has run before; 0: none
  const int32_t* exit_at = nullptr;  // [.] by row number; 0 where a row has not left
  const ExitRule* rules = nullptr;   // [.] by row number; read without `exit_at`
  int32_t* picked = nullptr;         // [rows.capacity] out
  int32_t* count = nullptr;          // [1] out
};

void DecideExits(const DecideExitsArgs& args);
void ResolveExits(const ResolveExitsArgs& args);
void PickRows(const PickRowsArgs& args);

}  // namespace salient

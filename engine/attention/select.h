// Selection: which keys each query reads (arXiv 2309.14174, eq. 1 and 2).
//
//   score(j) = <Qs, Ks_j>, Qs and Ks int8;  the list is top-k by score, ties to the lower position
//
// Scores are integers, so every backend and every batch shape picks the same keys. A query is quantised by its own
// largest component: q_c = round(Qs_c * (127 / max |Qs|)), rounding half to even; a key by the layer's fixed step:
// k_c = clamp(round(Ks_c * key_inverse_step), -127, 127), so that scores of different keys compare as integers.
// kMass sums softmax weights in fixed point (mass.h), which is exact in any order, too.

#pragma once

#include "engine/core/keys.h"
#include "engine/core/kv_store.h"
#include "engine/core/rows.h"

namespace salient {

struct AppendSelectionArgs {
  Rows rows;                    // which of the arrays' rows to store
  const float* keys = nullptr;  // [rows.capacity, ds] Ks, positions applied; row i belongs to rows[i]
  float key_inverse_step = 0;
  KvPages store;
  int32_t group = 0;
  const KeyView* views = nullptr;      // [.] by row number: the page table to write through
  const int32_t* positions = nullptr;  // [.] by row number: the position to write
};

struct SelectArgs {
  Rows rows;
  const float* queries = nullptr;  // [rows.capacity, ds] Qs, positions applied; row i belongs to rows[i]
  float key_inverse_step = 0;
  KvPages store;
  int32_t group = 0;
  const KeyView* views = nullptr;        // [.] by row number
  const SelectionRule* rules = nullptr;  // [.] by row number
  KeyList* lists = nullptr;              // [.] by row number; out: count, and positions unless every key is kept
  AttentionTally* tallies = nullptr;     // [.] by row number: `scored` is added to; null: not counted
};

// How many of `length` keys a rule keeps, never more than there are. For kMass, whose count depends on the scores, the
// most it may keep: all.
int32_t KeysToKeep(const SelectionRule& rule, int32_t length);

void AppendSelectionReference(const AppendSelectionArgs& args);
void SelectReference(const SelectArgs& args);

}  // namespace salient

// Attention over the chosen keys: out = softmax(q K^T / sqrt(head width)) V, head by head, the same keys for all heads.
//
// One operation serves encoder, decoder and cross attention, dense and sparse: a query names the keys that it sees and
// the list that selection made. The result of a query depends on its own keys alone, summed in ascending order of
// position in blocks fixed by its own length, never on other documents' rows beside it. No score matrix is ever
// materialised.
//
// Consecutive rows that share a page table and have no candidates belong to one document. From 32 of them on a backend
// may compute them together by another kernel, whose last bits differ; so a caller passes either all queries of a
// document (an encoder) or fewer than 32 (a beam). All queries may come in several calls, cut at multiples of
// kQueryPart from the document's first, the last part being no smaller: which calls they come in changes no bit.

#pragma once

#include "engine/core/keys.h"
#include "engine/core/kv_store.h"
#include "engine/core/rows.h"

namespace salient {

inline constexpr int32_t kQueryPart = 64;

struct AppendKeyValueArgs {
  Rows rows;
  const float* key_value = nullptr;  // [rows.capacity, 2 * width] K then V, positions applied; row i belongs to rows[i]
  KvPages store;
  int32_t layer = 0;
  const KeyView* views = nullptr;      // [.] by row number
  const int32_t* positions = nullptr;  // [.] by row number
};

struct AttendArgs {
  Rows rows;
  const float* queries = nullptr;  // [rows.capacity, width], positions applied; row i belongs to rows[i]
  int32_t heads = 0;
  KvPages store;
  int32_t layer = 0;
  const KeyView* views = nullptr;     // [.] by row number
  const KeyList* lists = nullptr;     // [.] by row number; null: every query reads all it sees
  float* output = nullptr;            // [rows.capacity, width]
  AttentionTally* tallies = nullptr;  // [.] by row number, added to; null: not counted
  bool same_keys = false;             // none of these keys was written since the last call that read them; a hint
  bool few_a_document = false;        // the caller knows that no document has 32 rows here; a hint, never needed
};

void AppendKeyValueReference(const AppendKeyValueArgs& args);
void AttendReference(const AttendArgs& args);

}  // namespace salient

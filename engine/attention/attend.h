// Attention over the chosen keys: out = softmax(q K^T / sqrt(head width)) V, head by head, the same keys for all heads.
//
// One operation serves encoder, decoder and cross attention, dense and sparse. Each query has a view, which gives the
// keys that it can see, and a list of the keys that selection chose. A query's result depends on its own keys alone:
// they are summed in ascending order of position, in blocks that its own length fixes. Other rows of the call do not
// change it. No score matrix is materialised.
//
// Consecutive rows that share a page table and have no candidates belong to one document. If there are 32 or more, a
// backend may compute them together with another kernel, whose results may differ in the last bits. So a caller passes
// either all queries of a document (an encoder) or fewer than 32 (a beam). Where memory is host-addressable the queries
// of a document may be divided among several calls: each part but the last has a multiple of kQueryPart queries, and
// the last has at least kQueryPart. The division changes no bit. A GPU chooses the kernel by what all of a document's
// queries read, so it gets them in one call.

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
  // Hints; results do not depend on them.
  bool same_keys = false;       // none of these keys was written since the last call that read them
  bool few_a_document = false;  // no document has 32 rows or more in this call
  bool same_lists = false;      // rows, views and lists are those of the last call, of another layer
};

void AppendKeyValueReference(const AppendKeyValueArgs& args);
void AttendReference(const AttendArgs& args);

}  // namespace salient

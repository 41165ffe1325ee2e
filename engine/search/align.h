// Which source token a row's next token is made of: an alignment by cross-attention.
//
//   aligned = argmax over j of mean over heads of softmax_j(q K_j^T / sqrt(head width))
//
// over the source tokens j of the piece that the row translates, what closes it included; ties go to the lower j. Keys
// that selection has left out are looked at, too.

#pragma once

#include <cstdint>

#include "engine/core/keys.h"
#include "engine/core/kv_store.h"
#include "engine/core/rows.h"
#include "engine/search/rules.h"

namespace salient {

// Of a longer piece only so many source tokens are looked at.
inline constexpr int32_t kMostAligned = 4096;

struct AlignArgs {
  Rows rows;
  const float* queries = nullptr;  // [rows.capacity, width], positions applied; row i belongs to rows[i]
  int32_t heads = 0;
  KvPages store;  // of the source's keys
  int32_t layer = 0;
  const KeyView* views = nullptr;          // [.] by row number
  const Script* const* scripts = nullptr;  // [.] by row number; rows whose script does not ask are left out
  const int32_t* segments = nullptr;       // [.] by row number: which piece each translates
  int32_t* aligned = nullptr;              // [.] by row number, out: a position among the chunk's source tokens
};

void Align(const AlignArgs& args);

}  // namespace salient

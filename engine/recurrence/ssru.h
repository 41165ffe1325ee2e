// The simpler simple recurrent unit (SSRU, arXiv 1909.12673): what Marian's students have in self-attention's place. It
// carries one state from token to token instead of reading every earlier token's key.
//
//   f_t = sigmoid(W_f x_t + b_f)      c_t = f_t c_{t-1} + (1 - f_t) W x_t      output: max(c_t, 0)
//
// A position's state is kept where its key and value would be, in fp32 whatever the store's type: `width` numbers at
// the beginning of its row, which in bf16 they fill. (A store in int8 would be too small: decode/key_stores.cc.) So a
// hypothesis's history, a page's size and what is freed are the same as with attention.

#pragma once

#include <cstdint>

#include "engine/core/keys.h"
#include "engine/core/kv_store.h"
#include "engine/core/rows.h"

namespace salient {

// Row r is the last position that its view sees; the state before it is that of the position before in the view, zero
// if there is none, and was written by an earlier call.
struct SsruArgs {
  Rows rows;
  const float* input = nullptr;  // [rows.capacity, 2 * width] W x, then W_f x + b_f; row i belongs to rows[i]
  KvPages store;
  int32_t layer = 0;
  const KeyView* views = nullptr;  // [.] by row number
  float* states = nullptr;         // [., width] by row number: the output is added to
};

// Where a position's recurrent state is.
inline float* SsruState(const KvPages& store, int32_t layer, const int32_t* pages, int32_t position) {
  return reinterpret_cast<float*>(store.Key<std::byte>(layer, pages, position));
}

void SsruReference(const SsruArgs& args);

}  // namespace salient

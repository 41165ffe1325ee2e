// Lazy filling: the keys that early exits left out, made when a later token first needs them.
//
// A token that exits after layer q stores its state h^q. Every layer above q uses that copy in place of the state that
// the token never had there: the token's keys, values and selection keys in that layer are projections of h^q
// (arXiv 1910.10073, section 2: "copied upward"). They depend on the copy alone. So they are computed when a later
// token first needs the layer, as extra rows of the layer's own products, and never if no token does.

#pragma once

#include <cstdint>

#include "engine/core/keys.h"
#include "engine/core/kv_store.h"
#include "engine/core/rows.h"
#include "engine/depth/exit.h"

namespace salient {

inline constexpr uint8_t kNoExit = 255;  // nothing was decoded at this position yet

// Where a chunk's tokens left the decoder, and how far each layer is filled. In device memory, a chunk its own.
struct FillLedger {
  uint8_t* exit_of = nullptr;    // [positions] layers a position ran, counted from 1; kNoExit
  int32_t* filled_to = nullptr;  // [decoder layers] no position below it is missing in the layer
  int32_t beam = 1;              // positions a step
  int32_t deepest = kMaxLayers;  // no token of the chunk runs a layer above it
};

// Finds up to `capacity` positions that layer `layer` lacks and the active rows' chunks need, copies their exit states
// into rows first_row, first_row + 1, ... of `states`, and says whose they are. Advances filled_to past them; when
// fewer than `capacity` are found, nothing is missing any more.
//
// A host that does not wait for the count must bound it beforehand. With `patience`, chunks of `all` without an active
// row are filled, too, once they lack `patience` steps. So a chunk never lacks more than patience + 1 steps, and
// (patience + 1) positions for each row are always enough.
struct CollectFillsArgs {
  Rows active;
  Rows all;                              // rows of the step, the active ones among them; read where patience > 0
  int32_t patience = 0;                  // steps; 0: without end
  int32_t layer = 0;                     // from 1: positions that exited below it lack it
  FillLedger* const* ledgers = nullptr;  // [.] by row number; rows of one chunk share one
  const int32_t* steps = nullptr;        // [.] by row number: steps before this one
  const KeyView* views = nullptr;        // [.] by row number: the page tables
  KvPages store;

  int32_t first_row = 0, capacity = 0;
  float* states = nullptr;            // [., width] by row number
  KeyView* fill_views = nullptr;      // [.] by row number, written at first_row + i
  int32_t* fill_positions = nullptr;  // storage position
  int32_t* fill_steps = nullptr;      // its step: the rotary position
  int32_t* fills = nullptr;           // [.] by row number: added to at the chunk's first active row, else its first
  int32_t* count = nullptr;           // [1] out

  // Out: the active rows, then the rows of the fills; null: not wanted.
  int32_t* extended = nullptr;  // [active.capacity + capacity]
  int32_t* extended_count = nullptr;
};

// Keeps the states of rows that exited below the last layer, and notes every row's exit.
struct KeepExitStatesArgs {
  Rows rows;
  const float* states = nullptr;     // [., width] by row number
  const int32_t* exit_at = nullptr;  // [.] by row number
  int32_t layers = 0;
  FillLedger* const* ledgers = nullptr;  // [.] by row number
  const KeyView* views = nullptr;        // [.] by row number
  const int32_t* positions = nullptr;    // [.] by row number
  KvPages store;
};

void CollectFills(const CollectFillsArgs& args);
void KeepExitStates(const KeepExitStatesArgs& args);

}  // namespace salient

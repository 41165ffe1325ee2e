// What a block of a layer begins with: its rows' states, normed, and products of them (queries, keys and values,
// selection queries and keys, hidden states), rotated and stored where they belong.
//
//   y = f(norm(x) W^T + b),  then rotated by the row's position, then written to the key store
//
// One operation, so that a device may compute all of it in one kernel. The results are those of its parts in their
// order: LayerNorm or GatherRows, and for each projection Linear, Rotate, AppendKeyValue or AppendSelection.

#pragma once

#include <span>

#include "engine/attention/attend.h"
#include "engine/attention/select.h"
#include "engine/linear/linear.h"
#include "engine/norm/norm.h"

namespace salient {

struct Projection {
  Rows rows;  // all rows of the call, or the first of them
  const PackedLinear* weight = nullptr;
  Activation activation = Activation::kNone;
  // [rows.capacity, N]. Of a projection that is stored it is scratch memory, and holds nothing to be relied on.
  float* output = nullptr;
  // Rotation of the first heads * head_width outputs (RotateArgs); null: none.
  const int32_t* rotary_positions = nullptr;  // [.] by row number
  int32_t heads = 0, head_width = 0;
  float base = 10000.0f;
  // At most one of these: where the results are stored. Their rows are `rows`, their values `output`.
  const AppendKeyValueArgs* key_value = nullptr;
  const AppendSelectionArgs* selection = nullptr;
};

struct ProjectArgs {
  // The states, by row number, and their norm; without weights they are taken as they are. `output` is scratch memory.
  LayerNormArgs norm;
  std::span<const Projection> projections;
  // [., width] by row number: gets the normed states as well, where they go on as the residual (post-norm). Needs a
  // norm; not the input's memory. Null: only the projections need them.
  float* normed = nullptr;
};

}  // namespace salient

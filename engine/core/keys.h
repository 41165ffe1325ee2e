// What a query may read, what its request lets it read, and what was chosen: the words that selection and attention
// share. All plain data, readable by kernels.

#pragma once

#include <cstdint>

namespace salient {

// The keys that a query can see: positions 0 .. length - 1 of a document, or the `length` positions listed in
// `candidates` (ascending) where only some belong to its hypothesis.
struct KeyView {
  const int32_t* pages = nullptr;       // the document's page table
  const int32_t* candidates = nullptr;  // null: all positions below length
  int32_t length = 0;
  int32_t centre = 0;  // where a window is centred, an index below length

  int32_t Position(int32_t i) const { return candidates == nullptr ? i : candidates[i]; }
};

enum class SelectionKind : int32_t { kAll, kFraction, kMass, kWindow };

// How one selection layer chooses for one query. kFraction keeps max(min_keys, ceil(value * length)) keys, kMass the
// fewest best keys whose softmax sums to `value` but at least min_keys, kWindow the `value` keys around the centre.
struct SelectionRule {
  SelectionKind kind = SelectionKind::kAll;
  double value = 1.0;
  int32_t min_keys = 0;
};

// The keys chosen for one query: positions, ascending. count == kEveryKey: all that the query can see, unlisted.
inline constexpr int32_t kEveryKey = -1;
struct KeyList {
  int32_t* positions = nullptr;  // room for the view's length
  int32_t count = kEveryKey;
};

// What attention and selection read for a query, added up over the layers that ran.
struct AttentionTally {
  int64_t visible = 0;   // keys the query could see, a layer
  int64_t attended = 0;  // keys it read, a layer
  int64_t executed = 0;  // keys the kernel worked on, masked and padded ones included, a layer
  int64_t scored = 0;    // keys that a selection layer scored
};

}  // namespace salient

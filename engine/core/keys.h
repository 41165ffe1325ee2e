// The types that selection and attention share: the keys that a query can see, the rule that selects among them, and
// the selected keys. All are plain data that kernels can read.

#pragma once

#include <cstdint>

#include "engine/api/policies.h"

namespace salient {

// The keys that a query can see: positions 0 .. length - 1 of a document or, if only some of them belong to its
// hypothesis, the `length` positions in `candidates` (ascending).
struct KeyView {
  const int32_t* pages = nullptr;       // the document's page table
  const int32_t* candidates = nullptr;  // null: all positions below length
  int32_t length = 0;
  int32_t centre = 0;  // the centre of a window, an index below length

  int32_t Position(int32_t i) const { return candidates == nullptr ? i : candidates[i]; }
};

// The rule by which a selection layer selects keys for one query; policies are in engine/api/policies.h. kRatio selects
// max(min_keys, ceil(value * length)) keys; kMass the fewest best keys whose softmax sums to `value`, but at least
// min_keys; kWindow the `value` keys around the centre. kLearned is kRatio with the layer's learned value.
struct SelectionRule {
  SelectionPolicy policy = SelectionPolicy::kDense;
  double value = 1.0;
  int32_t min_keys = 0;
};

// The keys selected for one query: positions, ascending. count == kEveryKey: all keys that the query can see; none
// listed.
inline constexpr int32_t kEveryKey = -1;
struct KeyList {
  int32_t* positions = nullptr;  // has room for the view's length
  int32_t count = kEveryKey;
};

// The keys that attention and selection processed for a query, summed over the layers that ran.
struct AttentionTally {
  int64_t visible = 0;   // keys that the query could see
  int64_t attended = 0;  // keys that it read
  int64_t executed = 0;  // keys that the kernel processed, masked and padded ones included
  int64_t scored = 0;    // keys that a selection layer scored

  constexpr AttentionTally& operator+=(const AttentionTally& other) {
    visible += other.visible;
    attended += other.attended;
    executed += other.executed;
    scored += other.scored;
    return *this;
  }
};

}  // namespace salient

// The memory for the keys and values of several engines: each takes what its documents need at the time.
//
// It has two parts, for a chunk gets memory for the keys of its source when it is encoded, and for those of its
// translation when it is decoded. If there were one part, encoded chunks could take all of it and wait for each other.

#pragma once

#include <cstdint>

#include "engine/base/memory_budget.h"

namespace salient {

// The share of the key memory that holds the translations' own keys. A translation reserves space for a quarter more
// tokens than its source has, and some grow longer.
inline constexpr double kSelfShare = 0.6;

struct KeyMemory {
  explicit KeyMemory(int64_t bytes)
      : self(static_cast<int64_t>(kSelfShare * static_cast<double>(bytes))), cross(bytes - self.bytes()) {}
  MemoryBudget self, cross;
};

}  // namespace salient

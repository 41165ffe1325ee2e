// A set of rows for an operation. Its size is in device memory, like its members, because the device decides which rows
// are still active after a layer. The host launches operations for `capacity` rows and does not read the size.

#pragma once

#include <cstdint>

namespace salient {

struct Rows {
  const int32_t* index = nullptr;  // [capacity] row numbers, ascending; null for 0, 1, 2, ...
  const int32_t* count = nullptr;  // [1] number of rows; null for `capacity`
  int32_t capacity = 0;

  // For kernels, and for the host where device memory is host-addressable.
  int32_t size() const { return count == nullptr ? capacity : *count; }
  int32_t operator[](int32_t i) const { return index == nullptr ? i : index[i]; }

  static Rows First(int32_t n) { return Rows{nullptr, nullptr, n}; }
};

}  // namespace salient

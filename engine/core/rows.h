// A set of rows that an operation works on. Its size lives in device memory beside its members, because which rows
// are still active after a layer is decided on the device: the host launches for `capacity` rows and never asks.

#pragma once

#include <cstdint>

namespace salient {

struct Rows {
  const int32_t* index = nullptr;  // [capacity] row numbers, ascending; null for 0, 1, 2, ...
  const int32_t* count = nullptr;  // [1] how many of them; null for `capacity`
  int32_t capacity = 0;

  // For kernels, and for the host where device memory is host-addressable.
  int32_t size() const { return count == nullptr ? capacity : *count; }
  int32_t operator[](int32_t i) const { return index == nullptr ? i : index[i]; }

  static Rows First(int32_t n) { return Rows{nullptr, nullptr, n}; }
};

}  // namespace salient

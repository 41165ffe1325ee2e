// Device data for probes on the host: device memory itself if the host can read it, otherwise copies.
//
// For tests and traces. A copy waits for the device.

#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/keys.h"

namespace salient {

class ProbeCopies {
 public:
  explicit ProbeCopies(Backend& backend) : backend_(backend) {}

  // Results are valid until the next call of the same function.
  Rows OnHost(Rows rows) {
    if (backend_.host_addressable()) return rows;
    int32_t count = rows.capacity;
    if (rows.count != nullptr) Copy(&count, rows.count, 1);
    if (rows.index == nullptr) return Rows::First(count);
    index_.resize(count);
    Copy(index_.data(), rows.index, count);
    return {index_.data(), nullptr, count};
  }
  const float* OnHost(const float* values, size_t size) {
    if (backend_.host_addressable()) return values;
    values_.resize(size);
    Copy(values_.data(), values, size);
    return values_.data();
  }
  // The lists of `rows` (rows on the host), by row number; there are `size` lists.
  const KeyList* OnHost(const KeyList* lists, size_t size, Rows rows) {
    if (backend_.host_addressable()) return lists;
    lists_.resize(size);
    Copy(lists_.data(), lists, size);
    positions_.resize(size);
    for (int32_t i = 0; i < rows.size(); ++i) {
      KeyList& list = lists_[rows[i]];
      if (list.count == kEveryKey) continue;
      positions_[rows[i]].resize(list.count);
      Copy(positions_[rows[i]].data(), list.positions, list.count);
      list.positions = positions_[rows[i]].data();
    }
    return lists_.data();
  }

 private:
  template <typename T>
  void Copy(T* host, const T* device, size_t count) {
    backend_.memory().CopyToHost(host, device, count * sizeof(T));
  }

  Backend& backend_;
  std::vector<int32_t> index_;
  std::vector<float> values_;
  std::vector<KeyList> lists_;
  std::vector<std::vector<int32_t>> positions_;
};

}  // namespace salient

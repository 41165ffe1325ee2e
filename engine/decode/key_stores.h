// Where the keys and values of an engine's documents are: in two stores, whose pages come from the pools of its device
// (engine/core/page_pool.h).

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/backend/backend.h"
#include "engine/core/kv_store.h"
#include "engine/model/model.h"

namespace salient {

// Memory for the keys of all engines on one device. It has two parts, for a chunk gets memory for the keys of its
// source when it is encoded, and for those of its translation when it is decoded. If there were one part, encoded
// chunks could take all of it and wait for each other.
struct KeyPools {
  // Allocates the memory; `memory` may go before the pools do. If the device has none left, see the backend's status().
  KeyPools(DeviceMemory& memory, int64_t size);

  const int64_t bytes;
  const std::shared_ptr<std::byte> area;
  PagePool self, cross;
};

// The stores of one engine; the pools must outlive them.
struct KeyStores {
  // `kv_type` of stored keys and values; none: the backend's own. `look` as PageShare's.
  KeyStores(const Model& model, Backend& backend, std::optional<ElementType> kv_type, KeyPools& pools,
            const std::function<void()>& look = [] {});

  int64_t used_bytes() const;   // by documents in flight
  int64_t least_bytes() const;  // of pools that hold a page of each store

  KvStore self, cross;
};

}  // namespace salient

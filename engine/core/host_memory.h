// Memory of backends that compute on the host.

#pragma once

#include <cstddef>
#include <memory>

#include "engine/core/memory.h"

namespace salient {

// Large blocks are mapped separately, with huge pages if the system has them: otherwise gathers over a KV store of
// hundreds of megabytes would miss the TLB at every row. Thread safe.
class HostMemory final : public DeviceMemory {
 public:
  bool host_addressable() const override { return true; }
  void* Allocate(size_t bytes) override;
  void Free(void* pointer, size_t bytes) override;
  std::shared_ptr<std::byte> AllocateShared(size_t bytes) override;
  void CopyToDevice(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
};

}  // namespace salient

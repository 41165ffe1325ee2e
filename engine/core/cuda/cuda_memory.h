// A CUDA device's memory as the engine takes it: large blocks from the device, small ones from slabs.
//
// Every chunk allocates a few small arrays. cudaMalloc, cudaFree and pinning host memory would wait for the device each
// time, so freed blocks are kept and reused for allocations of the same size. A device block is reused at once, because
// all work is ordered on one stream. A host block is reused only after the stream has passed the copies that may still
// read it. Not thread safe.
//
// If the device has no memory left, the device fails with RESOURCE_EXHAUSTED and computes nothing more. If host memory
// cannot be pinned, ordinary memory is used: copies take longer.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engine/core/cuda/device.h"
#include "engine/core/memory.h"

namespace salient::cuda {

class CudaMemory final : public DeviceMemory {
 public:
  // `pinned`: allocate host memory that the device reads and writes (CudaOptions::host_visible).
  CudaMemory(Device& device, bool pinned) : device_(device), pinned_(pinned) {}
  ~CudaMemory() override;

  bool host_addressable() const override { return false; }
  void* Allocate(size_t bytes) override;
  void Free(void* pointer, size_t bytes) override;
  std::shared_ptr<std::byte> AllocateShared(size_t bytes) override;
  size_t free_bytes() const override;
  void CopyToDevice(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void StartCopyToHost(void* host, const void* device, size_t bytes) override;
  uint64_t Mark() override { return device_.Mark(); }
  bool Passed(uint64_t mark) override { return device_.Passed(mark); }
  void WaitFor(uint64_t mark) override { device_.WaitFor(mark); }
  void* AllocateHost(size_t bytes) override;
  void FreeHost(void* pointer, size_t bytes) override;

 private:
  void* FromDevice(size_t bytes);  // null where there is no more; the device has failed then
  void FailToAllocate(size_t bytes);
  void* Small(size_t rounded);
  void* FromHost(size_t rounded);

  Device& device_;
  const bool pinned_;
  std::map<size_t, std::vector<void*>> free_;  // by rounded size
  std::vector<void*> slabs_;

  // A block of the host's memory that is free once the mark is passed.
  struct HostBlock {
    void* pointer = nullptr;
    uint64_t mark = 0;
  };
  std::map<size_t, std::deque<HostBlock>> free_host_;  // by rounded size, the first freed first
  std::set<void*> unpinned_;                           // of the host's blocks

  std::byte* slab_ = nullptr;
  size_t slab_left_ = 0;
};

}  // namespace salient::cuda

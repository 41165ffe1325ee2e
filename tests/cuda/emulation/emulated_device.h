// A CUDA device on the host: its memory is ordinary memory that the host cannot touch, its kernels run in grid.h.
//
// Device memory is inaccessible except while a kernel or a copy runs, so that host code that follows a device pointer
// dies of it here as it would with a GPU. Pinned memory is the host's and kernels', as it is with a GPU.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/backend/cuda/device.h"

namespace salient::emulation {

// Of devices that OpenDevice opens from now on, the next fails at the launch after `launches` more ones: what a kernel
// that reads what it must not would do.
void FailNextDeviceAfter(int64_t launches);

// Of the same, the next has as much memory, and fails the allocation after `allocations` more ones; negative: none.
void LimitNextDevice(size_t bytes);
void FailNextDevicesAllocation(int64_t allocations, bool pinned);

class EmulatedDevice final : public cuda::Device {
 public:
  EmulatedDevice();
  ~EmulatedDevice() override;

  std::string Name() const override { return "emulated"; }
  size_t free_bytes() const override { return limit_ - in_use_; }
  size_t shared_bytes() const override { return 99 << 10; }
  int multiprocessors() const override { return 4; }
  bool overlaps_launches() const override { return false; }
  void* stream() override { return nullptr; }

  void* Allocate(size_t bytes) override;
  void Free(void* pointer) override;
  void* AllocatePinned(size_t bytes) override;
  void FreePinned(void* pointer) override;

  void Zero(void* device, size_t bytes) override;
  void CopyToDevice(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void StartCopyToHost(void* pinned, const void* device, size_t bytes) override;
  void Record(int) override {}
  void WaitFor(int) override {}
  void Synchronize() override {}

  void BeginCapture() override;
  std::unique_ptr<cuda::Graph> EndCapture() override;
  void Replay(cuda::Graph& graph) override;

  // Runs the work, or keeps it for the graph that is being captured.
  void Enqueue(std::function<void()> work);
  void FailAfter(int64_t launches) { fail_after_ = launches; }
  void Limit(size_t bytes) { limit_ = std::min(bytes, kMemoryBytes); }
  void FailAllocation(int64_t allocations, bool pinned) { (pinned ? fail_pinned_ : fail_allocation_) = allocations; }
  int64_t launches() const { return launches_; }

 private:
  void Run(const std::function<void()>& work);
  std::string ErrorText(int error) const override;

  static constexpr size_t kMemoryBytes = size_t{1} << 30;  // address space; used as it is written

  std::byte* memory_ = nullptr;
  size_t used_ = 0;  // of the address space
  size_t in_use_ = 0, limit_ = kMemoryBytes;
  int64_t fail_allocation_ = -1, fail_pinned_ = -1;
  std::multimap<size_t, std::byte*> free_;
  std::map<std::byte*, size_t> taken_;
  bool capturing_ = false;
  std::vector<std::function<void()>> captured_;
  int64_t fail_after_ = -1, launches_ = 0;
};

}  // namespace salient::emulation

// A CUDA device on the host: its memory is ordinary memory that the host cannot touch, its kernels run in grid.h.
//
// Device memory is inaccessible except while kernels and copies run, on any device, so that host code that follows a
// device pointer dies of it here as it would with a GPU. Pinned memory is the host's and kernels', as it is with a GPU.
//
// What a stream is given waits in its queue. It runs when the host waits for it, or now and then earlier; which stream
// goes on is drawn at random, kernel by kernel, now evenly, now one far ahead of the other. So what the host changes
// too early, frees or reads too early, and what a stream reads before another has written it, shows as a wrong result.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/core/cuda/device.h"

namespace salient::emulation {

// Of devices that OpenDevice opens from now on, the next fails in the kernel or copy after `launches` more ones. The
// error is that of a kernel that reads what it must not, which lasts and ends every device of the process, or that of a
// refused launch, which does not.
void FailNextDeviceAfter(int64_t launches, bool lasts);
// Devices can be opened again after an error that lasts, as in a new process.
void RestartProcess();

// Of the same, the next has as much memory, and fails the allocation after `allocations` more ones; negative: none.
void LimitNextDevice(size_t bytes);
void FailNextDevicesAllocation(int64_t allocations, bool pinned);

// How often the host has waited until a stream was done with all that it had been given: it did nothing then until the
// host came back.
int64_t WaitsForEverything();

// How many graphs were launched.
int64_t Replays();

// How many copies to a device were made from ordinary memory. On a GPU the host waits in such a copy for its turn in
// the stream.
int64_t PageableCopies();

// From now on all host memory counts as pinned, as in the tests of operations on a GPU (tests/cuda/pinned_main.cc): no
// copy from it is complete when the call returns.
void PinAllHostMemory(bool pinned);

// Whether an error that lasts was seen.
bool ProcessIsLost();

// cudaErrorInvalidConfiguration: a grid that is too large, or one of blocks that are.
inline constexpr int kInvalidConfiguration = 9;

// What the streams of a device share: memory, and whose turn it is.
class Gpu;

// One stream.
class EmulatedDevice final : public cuda::Device {
 public:
  EmulatedDevice();
  ~EmulatedDevice() override;

  std::string Name() const override { return "emulated"; }
  size_t free_bytes() const override;
  size_t shared_bytes() const override { return 99 << 10; }
  int multiprocessors() const override { return 4; }
  bool overlaps_launches() const override { return false; }
  void* stream() override { return nullptr; }

  std::unique_ptr<cuda::Device> OpenStream() override;
  void After(cuda::Device& other) override;

  void* Allocate(size_t bytes) override;
  void Free(void* pointer) override;
  std::shared_ptr<std::byte> AllocateShared(size_t bytes) override;
  void* AllocatePinned(size_t bytes) override;
  void FreePinned(void* pointer) override;

  void Zero(void* device, size_t bytes) override;
  void CopyToDevice(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void StartCopyToHost(void* host, const void* device, size_t bytes) override;
  void Synchronize() override;

  void BeginCapture() override { capturing_ = true; }
  std::unique_ptr<cuda::Graph> EndCapture() override;
  void Replay(cuda::Graph& graph) override;

  // Puts the work into the stream's queue, or keeps it for the graph that is being captured.
  void Enqueue(std::function<void()> work);
  int number() const { return stream_; }  // of the stream, among the device's
  void FailAfter(int64_t launches, bool lasts);
  void Limit(size_t bytes);
  void FailAllocation(int64_t allocations, bool pinned);

 private:
  EmulatedDevice(std::shared_ptr<Gpu> gpu, std::shared_ptr<absl::Status> errors);  // a stream beside another

  void RunUntil(uint64_t done);
  void NoteFailure();
  std::string ErrorText(int error) const override;
  bool ErrorLasts() override;
  void RecordEvent(int event) override;
  bool EventPassed(int event) override;
  void WaitForEvent(int event) override;

  const std::shared_ptr<Gpu> gpu_;
  const int stream_;               // among the device's
  uint64_t events_[kEvents] = {};  // how much of the queue lay before each
  bool capturing_ = false;
  std::vector<std::function<void()>> captured_;
};

}  // namespace salient::emulation

// One CUDA device as the backend uses it: memory, a stream, captured graphs, errors.
//
// All work is ordered on one stream. Only CopyToHost, Synchronize, WaitFor and Free wait for the device. A second
// stream of the same device is a Device of its own: the two share memory and errors, and only After orders work between
// them.
//
// Errors: status() keeps the first CUDA error or failed allocation. Every later call does nothing. The owner then fails
// the documents in flight and opens a new device. An error of a kernel (a bad address, a memory error of the GPU)
// lasts: CUDA refuses everything else in this process, for every device and every engine in it. OpenDevice then fails
// and says that the process must be restarted. Failed allocations and refused calls do not last.
//
// Two implementations: device_nvcc.cu, and tests/cuda/emulation, which runs kernels on the host.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace salient::cuda {

struct LaunchShape {
  unsigned grid_x = 1, grid_y = 1;
  unsigned threads = 128;
  size_t shared_bytes = 0;
};

// What CUDA calls between BeginCapture and EndCapture recorded.
class Graph {
 public:
  virtual ~Graph() = default;
};

// Not thread safe.
class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string Name() const = 0;  // "NVIDIA H100 80GB HBM3 (sm_90)"
  virtual size_t free_bytes() const = 0;
  virtual size_t shared_bytes() const = 0;  // the most dynamic shared memory a block can have
  virtual int multiprocessors() const = 0;
  virtual bool overlaps_launches() const = 0;
  virtual void* stream() = 0;

  // Another stream of this device, which must outlive it.
  virtual std::unique_ptr<Device> OpenStream() = 0;
  // Work launched here from now on starts after all work launched so far on `other`, a stream of the same device.
  virtual void After(Device& other) = 0;

  // While set, launches whose blocks keep a multiprocessor for long leave a quarter of the multiprocessors to other
  // streams (docs/gpu.md has the arithmetic): they take no more than multiprocessors_to_fill().
  void LeaveRoom(bool leave) { leaves_room_ = leave; }
  bool leaves_room() const { return leaves_room_; }
  int multiprocessors_to_fill() const {
    return leaves_room_ ? std::max(1, multiprocessors() * 3 / 4) : multiprocessors();
  }

  // Null when there is no such memory left.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* pointer) = 0;  // waits for all streams
  // Memory of every Device of the process, which may outlive this one.
  virtual std::shared_ptr<std::byte> AllocateShared(size_t bytes) = 0;
  // Host memory that copies read and write while the host goes on.
  virtual void* AllocatePinned(size_t bytes) = 0;
  virtual void FreePinned(void* pointer) = 0;

  virtual void Zero(void* device, size_t bytes) = 0;
  // The host's memory may be changed when it returns, unless it is pinned: then when the copy is done.
  virtual void CopyToDevice(void* device, const void* host, size_t bytes) = 0;
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;  // waits for it
  virtual void StartCopyToHost(void* pinned, const void* device, size_t bytes) = 0;

  // As in DeviceMemory: marks this point of the stream with a number greater than all earlier ones. After an error
  // every mark is passed.
  uint64_t Mark();
  bool Passed(uint64_t mark);
  void WaitFor(uint64_t mark);
  virtual void Synchronize() = 0;

  virtual void BeginCapture() = 0;
  virtual std::unique_ptr<Graph> EndCapture() = 0;  // null after an error
  virtual void Replay(Graph& graph) = 0;

  bool ok() const { return status_->ok(); }
  const absl::Status& status() const { return *status_; }
  // Keeps the error that a CUDA call returned, if it is the first.
  void Check(int error, const char* call) {
    if (error != 0) Fail(error, call);
  }
  void Fail(int error, const char* call);
  void Fail(absl::Status status);

 protected:
  Device() : status_(std::make_shared<absl::Status>()) {}
  // A stream beside another: `errors` is the other's shared_errors().
  explicit Device(std::shared_ptr<absl::Status> errors) : status_(std::move(errors)) {}
  const std::shared_ptr<absl::Status>& shared_errors() const { return status_; }

  virtual std::string ErrorText(int error) const = 0;
  // After a CUDA error: whether it lasts. If so, OpenDevice fails from now on.
  virtual bool ErrorLasts() = 0;

  // Marks are CUDA events, used in turns. A mark older than the last kEvents shares its event with a later mark:
  // waiting for that one is enough.
  static constexpr int kEvents = 32;
  virtual void RecordEvent(int event) = 0;
  virtual bool EventPassed(int event) = 0;
  virtual void WaitForEvent(int event) = 0;

 private:
  std::shared_ptr<absl::Status> status_;
  uint64_t marks_ = 0, passed_ = 0;
  bool leaves_room_ = false;
};

// What OpenDevice says after an error that lasts.
absl::Status ProcessHasLostItsGpu();

// UNAVAILABLE says why there is no device: no driver, no GPU, one too old, a build without CUDA, or an earlier error
// that lasts.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice();

}  // namespace salient::cuda

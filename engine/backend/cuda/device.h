// One CUDA device as the backend uses it: memory, one stream, captured graphs, errors.
//
// Everything is ordered on one stream; nothing here waits for the device but CopyToHost, Synchronize and WaitFor.
//
// Errors: the first CUDA error, or failure for want of memory, is kept and everything after it does nothing, because a context with an error in it
// answers nothing else. status() tells it; the owner fails what is in flight and makes a new device.
//
// Two implementations: device_nvcc.cu, and tests/cuda/emulation, which runs kernels on the host.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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

  virtual std::string Name() const = 0;  // "NVIDIA H100 80GB HBM3 (sm_90)"
  virtual size_t free_bytes() const = 0;
  virtual size_t shared_bytes() const = 0;  // the most dynamic shared memory a block can have
  virtual int multiprocessors() const = 0;
  virtual bool overlaps_launches() const = 0;
  virtual void* stream() = 0;

  // Null when there is no such memory left.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* pointer) = 0;
  // Host memory that copies read and write while the host goes on.
  virtual void* AllocatePinned(size_t bytes) = 0;
  virtual void FreePinned(void* pointer) = 0;

  virtual void Zero(void* device, size_t bytes) = 0;
  // The host's memory may be changed when it returns, unless it is pinned: then when the copy is done.
  virtual void CopyToDevice(void* device, const void* host, size_t bytes) = 0;
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;  // waits for it
  virtual void StartCopyToHost(void* pinned, const void* device, size_t bytes) = 0;

  // Marks this point of the stream in one of kEvents places; WaitFor waits until the device has passed it.
  static constexpr int kEvents = 8;
  virtual void Record(int event) = 0;
  virtual void WaitFor(int event) = 0;
  virtual void Synchronize() = 0;

  virtual void BeginCapture() = 0;
  virtual std::unique_ptr<Graph> EndCapture() = 0;  // null after an error
  virtual void Replay(Graph& graph) = 0;

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Keeps the error that a CUDA call returned, if it is the first.
  void Check(int error, const char* call) {
    if (error != 0) Fail(error, call);
  }
  void Fail(int error, const char* call);
  void Fail(absl::Status status);

 protected:
  virtual std::string ErrorText(int error) const = 0;

 private:
  absl::Status status_;
};

// UNAVAILABLE says why there is no device: no driver, no GPU, one too old, or a build without CUDA.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice();

}  // namespace salient::cuda

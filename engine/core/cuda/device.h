// One CUDA device as the backend uses it: memory, a stream, captured graphs, errors.
//
// Everything is ordered on the stream; nothing here waits for the device but CopyToHost, Synchronize, WaitFor and Free.
// Another stream of the same device is a Device of its own: the two share memory and errors, and are in no order but
// After's.
//
// Errors: the first CUDA error, or failure for want of memory, is kept and everything after it does nothing, because a
// context with an error in it answers nothing else. status() tells it; the owner fails what is in flight and makes a
// new device.
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

  // Another stream of this device, which must outlive it.
  virtual std::unique_ptr<Device> OpenStream() = 0;
  // What is launched here from now on begins when what `other`, a stream of the same device, was given so far is done.
  virtual void After(Device& other) = 0;

  // Null when there is no such memory left.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* pointer) = 0;  // waits for all streams
  // Host memory that copies read and write while the host goes on.
  virtual void* AllocatePinned(size_t bytes) = 0;
  virtual void FreePinned(void* pointer) = 0;

  virtual void Zero(void* device, size_t bytes) = 0;
  // The host's memory may be changed when it returns, unless it is pinned: then when the copy is done.
  virtual void CopyToDevice(void* device, const void* host, size_t bytes) = 0;
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;  // waits for it
  virtual void StartCopyToHost(void* pinned, const void* device, size_t bytes) = 0;

  // Marks this point of the stream, by a number greater than all before it. The host asks whether the stream has come
  // past a mark, or waits until it has. After an error every mark is passed: nothing comes any more.
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
  explicit Device(const Device& sibling) : status_(sibling.status_) {}  // a stream beside it

  virtual std::string ErrorText(int error) const = 0;

  // What marks are made of: the last kEvents of them. An older one has given its place to a later one, which is passed
  // later and so serves for it.
  static constexpr int kEvents = 32;
  virtual void RecordEvent(int event) = 0;
  virtual bool EventPassed(int event) = 0;
  virtual void WaitForEvent(int event) = 0;

 private:
  std::shared_ptr<absl::Status> status_;
  uint64_t marks_ = 0, passed_ = 0;
};

// UNAVAILABLE says why there is no device: no driver, no GPU, one too old, or a build without CUDA.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice();

}  // namespace salient::cuda

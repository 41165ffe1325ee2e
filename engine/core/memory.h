// Memory that a backend owns. It is allocated and freed on the backend's device; no other backend uses it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace salient {

// Allocates and frees one device's memory. A backend owns one; it must outlive every DeviceArray made from it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // Whether the host may read and write through the addresses that Allocate returns.
  virtual bool host_addressable() const = 0;

  // At least `bytes` bytes, zeroed, aligned to 64. Never null. If a device has no memory left, returns a dummy pointer;
  // check the backend's status(). If the host has no memory left, the process ends.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* pointer, size_t bytes) = 0;
  // Memory that all backends of the device may use and that may outlive this one; aligned to 64, not zeroed. Null if
  // the device has none left.
  virtual std::shared_ptr<std::byte> AllocateShared(size_t bytes) = 0;

  // How much may be allocated permanently at the start: the free memory less a reserve for later, temporary
  // allocations. Unlimited on the host, where the system overcommits memory.
  virtual size_t free_bytes() const { return std::numeric_limits<size_t>::max(); }

  // Copies are ordered among the operations of the backend. CopyToHost waits until its copy is complete.
  // StartCopyToHost returns at once; its copy is complete when a mark set after it is passed.
  virtual void CopyToDevice(void* device, const void* host, size_t bytes) = 0;
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;
  virtual void StartCopyToHost(void* host, const void* device, size_t bytes) { CopyToHost(host, device, bytes); }

  // A mark is a point in the order of the operations: the device has passed it when all operations before it are
  // complete. On a device that has failed all marks are passed.
  virtual uint64_t Mark() { return 0; }
  virtual bool Passed(uint64_t) { return true; }
  virtual void WaitFor(uint64_t) {}

  // Host memory for copies to and from the device, zeroed. Do not change it after CopyToDevice until a mark set after
  // the copy is passed or a later CopyToHost has returned. It may be freed at any time.
  virtual void* AllocateHost(size_t bytes) { return Allocate(bytes); }
  virtual void FreeHost(void* pointer, size_t bytes) { Free(pointer, bytes); }
};

// A fixed number of Ts in device memory. Movable, not copyable. On a device with host-addressable memory (every CPU
// backend) data() may be dereferenced by the host; elsewhere only kernels may.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(DeviceMemory& memory, size_t size)
      : memory_(&memory), data_(static_cast<T*>(memory.Allocate(size * sizeof(T)))), size_(size) {}
  DeviceArray(DeviceArray&& other) noexcept { *this = std::move(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceArray() {
    if (data_ != nullptr) memory_->Free(data_, size_ * sizeof(T));
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  DeviceMemory* memory_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0;
};

// A copy of the values in device memory.
template <typename T>
DeviceArray<T> OnDevice(DeviceMemory& memory, const std::vector<T>& values) {
  DeviceArray<T> array(memory, values.size());
  memory.CopyToDevice(array.data(), values.data(), values.size() * sizeof(T));
  return array;
}

}  // namespace salient

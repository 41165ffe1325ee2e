// Arrays that the host and kernels both read or write, moved between them together.
//
// A Staging has two blocks of the same layout, one in host memory and one on the device. One copy moves all arrays in
// it. If device memory is host-addressable, both are the same block and copies do nothing.
//
//   Staging staging(memory);
//   StagedArray<int32_t> token(staging, rows), step(staging, rows);
//   staging.Allocate();
//   token.data()[0] = 7;        // the host's side
//   staging.Upload();
//   kernel(token.device());     // the device's side
//
// Not thread safe; neither copied nor moved. Upload may read the host's side after it returns. So do not change it
// until a later Download has returned or a mark set after the Upload is passed (memory.h).

#pragma once

#include <cstddef>
#include <type_traits>

#include "engine/base/check.h"
#include "engine/core/memory.h"

namespace salient {

class Staging {
 public:
  explicit Staging(DeviceMemory& memory) : memory_(memory), shared_(memory.host_addressable()) {}
  ~Staging() {
    if (host_ == nullptr) return;
    memory_.Free(device_, bytes_);
    if (!shared_) memory_.FreeHost(host_, bytes_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Reserves `bytes` bytes and returns their offset. Call it before Allocate.
  size_t Reserve(size_t bytes) {
    SALIENT_CHECK(host_ == nullptr);
    const size_t at = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  // Allocates both blocks, zeroed.
  void Allocate() {
    device_ = static_cast<std::byte*>(memory_.Allocate(bytes_));
    host_ = shared_ ? device_ : static_cast<std::byte*>(memory_.AllocateHost(bytes_));
  }

  void Upload() { Upload(0, bytes_); }
  void Upload(size_t first, size_t bytes) {
    SALIENT_CHECK(first + bytes <= bytes_);
    if (!shared_) memory_.CopyToDevice(device_ + first, host_ + first, bytes);
  }
  // Copies the host's block to another block on the device.
  void UploadTo(std::byte* block) { memory_.CopyToDevice(block, host_, bytes_); }
  void Download() {
    if (!shared_) memory_.CopyToHost(host_, device_, bytes_);
  }
  // Does not wait (memory.h).
  void StartDownload() { StartDownload(0, bytes_); }
  void StartDownload(size_t first, size_t bytes) {
    SALIENT_CHECK(first + bytes <= bytes_);
    if (!shared_) memory_.StartCopyToHost(host_ + first, device_ + first, bytes);
  }

  std::byte* host() const { return host_; }
  std::byte* device() const { return device_; }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlignment = 64;

  DeviceMemory& memory_;
  const bool shared_;
  size_t bytes_ = 0;
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
};

template <typename T>
class StagedArray {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  StagedArray(Staging& staging, size_t size)
      : staging_(&staging), at_(staging.Reserve(size * sizeof(T))), size_(size) {}

  // Call it after the staging's Allocate.
  T* data() { return reinterpret_cast<T*>(staging_->host() + at_); }
  const T* data() const { return reinterpret_cast<const T*>(staging_->host() + at_); }
  T* device() const { return reinterpret_cast<T*>(staging_->device() + at_); }
  size_t size() const { return size_; }
  // Its offset in a block.
  size_t at() const { return at_; }

  // Uploads only `count` elements from index `first`.
  void Upload(size_t first, size_t count) {
    SALIENT_CHECK(first + count <= size_);
    staging_->Upload(at_ + first * sizeof(T), count * sizeof(T));
  }
  void StartDownload(size_t first, size_t count) {
    SALIENT_CHECK(first + count <= size_);
    staging_->StartDownload(at_ + first * sizeof(T), count * sizeof(T));
  }

 private:
  Staging* staging_;
  size_t at_, size_;
};

}  // namespace salient

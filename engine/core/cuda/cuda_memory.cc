#include "engine/core/cuda/cuda_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace salient::cuda {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kSlabBytes = size_t{16} << 20;
constexpr size_t kSmall = size_t{1} << 20;
// Kept free at the start, for slabs, lists of chosen keys, captured graphs and the libraries' own.
constexpr size_t kReserve = size_t{256} << 20;

// Where blocks are that a failed device could not give.
alignas(kAlignment) std::byte g_nowhere[kAlignment];

size_t InMegabytes(size_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

// Sizes of blocks: multiples of 256 bytes, and from 4 KB on steps of an eighth, so that freed blocks find takers.
size_t Rounded(size_t bytes) {
  size_t unit = kAlignment;
  while (unit * 16 < bytes) unit *= 2;
  return std::max(unit, (bytes + unit - 1) / unit * unit);
}

}  // namespace

CudaMemory::~CudaMemory() {
  device_.Synchronize();
  for (const auto& [bytes, blocks] : free_host_) {
    for (const HostBlock& block : blocks) {
      unpinned_.contains(block.pointer) ? std::free(block.pointer) : device_.FreePinned(block.pointer);
    }
  }
  for (void* slab : slabs_) pinned_ ? device_.FreePinned(slab) : device_.Free(slab);
}

size_t CudaMemory::free_bytes() const {
  const size_t free = device_.free_bytes();
  return free > kReserve ? free - kReserve : 0;
}

void* CudaMemory::FromDevice(size_t bytes) {
  void* pointer = pinned_ ? device_.AllocatePinned(bytes) : device_.Allocate(bytes);
  if (pointer == nullptr) FailToAllocate(bytes);
  return pointer;
}

void CudaMemory::FailToAllocate(size_t bytes) {
  device_.Fail(absl::ResourceExhaustedError(absl::StrCat(
      "the GPU has no ", InMegabytes(bytes), " MB of memory left, only ", InMegabytes(device_.free_bytes()),
      ": start the server with less --kv-memory, or end what else uses the GPU")));
}

// A block from the slabs, or null.
void* CudaMemory::Small(size_t rounded) {
  if (slab_left_ < rounded) {
    void* slab = FromDevice(kSlabBytes);
    if (slab == nullptr) return nullptr;
    slabs_.push_back(slab);
    slab_ = static_cast<std::byte*>(slab);
    slab_left_ = kSlabBytes;
  }
  void* pointer = slab_;
  slab_ += rounded;
  slab_left_ -= rounded;
  return pointer;
}

void* CudaMemory::Allocate(size_t bytes) {
  const size_t rounded = Rounded(bytes);
  std::vector<void*>& free = free_[rounded];
  void* pointer = nullptr;
  if (!free.empty()) {
    pointer = free.back();
    free.pop_back();
  } else {
    pointer = rounded > kSmall ? FromDevice(rounded) : Small(rounded);
  }
  if (pointer == nullptr) return g_nowhere;
  device_.Zero(pointer, rounded);
  if (pinned_) device_.Synchronize();
  return pointer;
}

void CudaMemory::Free(void* pointer, size_t bytes) {
  if (pointer == g_nowhere) return;
  const size_t rounded = Rounded(bytes);
  if (rounded > kSmall) {
    pinned_ ? device_.FreePinned(pointer) : device_.Free(pointer);
  } else {
    free_[rounded].push_back(pointer);
  }
}

std::shared_ptr<std::byte> CudaMemory::AllocateShared(size_t bytes) {
  std::shared_ptr<std::byte> pointer = device_.AllocateShared(bytes);
  if (pointer == nullptr) FailToAllocate(bytes);
  return pointer;
}

void CudaMemory::CopyToDevice(void* device, const void* host, size_t bytes) {
  if (bytes > 0) device_.CopyToDevice(device, host, bytes);
  if (pinned_)
    device_.Synchronize();  // the host's memory may be pinned all of it, and is freed by who knows nothing of it
}

void CudaMemory::CopyToHost(void* host, const void* device, size_t bytes) {
  if (bytes > 0) device_.CopyToHost(host, device, bytes);
}

// Ordinary memory is copied when the call returns, whatever the size.
void CudaMemory::StartCopyToHost(void* host, const void* device, size_t bytes) {
  if (bytes > 0) device_.StartCopyToHost(host, device, bytes);
}

void* CudaMemory::FromHost(size_t rounded) {
  void* pointer = device_.AllocatePinned(rounded);
  if (pointer != nullptr) return pointer;
  pointer = std::aligned_alloc(kAlignment, rounded);
  if (pointer == nullptr) {
    std::fprintf(stderr, "salient: cannot allocate %zu bytes of memory\n", rounded);
    std::abort();
  }
  unpinned_.insert(pointer);
  return pointer;
}

void* CudaMemory::AllocateHost(size_t bytes) {
  const size_t rounded = Rounded(bytes);
  std::deque<HostBlock>& free = free_host_[rounded];
  void* pointer = nullptr;
  if (!free.empty() && device_.Passed(free.front().mark)) {
    pointer = free.front().pointer;
    free.pop_front();
  } else {
    pointer = FromHost(rounded);
  }
  return std::memset(pointer, 0, rounded);
}

void CudaMemory::FreeHost(void* pointer, size_t bytes) {
  free_host_[Rounded(bytes)].push_back({pointer, device_.Mark()});
}

}  // namespace salient::cuda

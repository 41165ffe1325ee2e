#include "engine/backend/cuda/cuda_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace salient::cuda {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kSlabBytes = size_t{16} << 20;
constexpr size_t kSmall = size_t{1} << 20;

// Sizes of blocks: multiples of 256 bytes, and from 4 KB on steps of an eighth, so that freed blocks find takers.
size_t Rounded(size_t bytes) {
  size_t unit = kAlignment;
  while (unit * 16 < bytes) unit *= 2;
  return std::max(unit, (bytes + unit - 1) / unit * unit);
}

}  // namespace

CudaMemory::~CudaMemory() {
  for (void* slab : slabs_) pinned_ ? device_.FreePinned(slab) : device_.Free(slab);
}

void* CudaMemory::FromDevice(size_t bytes) {
  void* pointer = pinned_ ? device_.AllocatePinned(bytes) : device_.Allocate(bytes);
  if (pointer == nullptr) {
    std::fprintf(stderr, "salient: cannot allocate %zu bytes on the GPU; lower --kv-memory or free some memory\n",
                 bytes);
    std::abort();
  }
  return pointer;
}

void* CudaMemory::Allocate(size_t bytes) {
  const size_t rounded = Rounded(bytes);
  std::vector<void*>& free = free_[rounded];
  void* pointer = nullptr;
  if (!free.empty()) {
    pointer = free.back();
    free.pop_back();
  } else if (rounded > kSmall) {
    pointer = FromDevice(rounded);
  } else {
    if (slab_left_ < rounded) {
      slab_ = static_cast<std::byte*>(FromDevice(kSlabBytes));
      slab_left_ = kSlabBytes;
      slabs_.push_back(slab_);
    }
    pointer = slab_;
    slab_ += rounded;
    slab_left_ -= rounded;
  }
  device_.Zero(pointer, rounded);
  if (pinned_) device_.Synchronize();
  return pointer;
}

void CudaMemory::Free(void* pointer, size_t bytes) {
  const size_t rounded = Rounded(bytes);
  if (rounded > kSmall) {
    pinned_ ? device_.FreePinned(pointer) : device_.Free(pointer);
  } else {
    free_[rounded].push_back(pointer);
  }
}

void CudaMemory::CopyToDevice(void* device, const void* host, size_t bytes) {
  if (bytes > 0) device_.CopyToDevice(device, host, bytes);
}

void CudaMemory::CopyToHost(void* host, const void* device, size_t bytes) {
  if (bytes > 0) device_.CopyToHost(host, device, bytes);
}

void* CudaMemory::AllocateHost(size_t bytes) {
  void* pointer = device_.AllocatePinned(std::max<size_t>(bytes, 1));
  if (pointer == nullptr) {
    std::fprintf(stderr, "salient: cannot pin %zu bytes of memory for the GPU\n", bytes);
    std::abort();
  }
  return std::memset(pointer, 0, bytes);
}

void CudaMemory::FreeHost(void* pointer, size_t) { device_.FreePinned(pointer); }

}  // namespace salient::cuda

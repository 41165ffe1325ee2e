#include "engine/core/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace salient {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMapFrom = 2 * kHugePage;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

[[noreturn]] void OutOfMemory(size_t bytes) {
  std::fprintf(stderr, "salient: cannot allocate %zu bytes of memory; lower --kv-memory or free some memory\n", bytes);
  std::abort();
}

// Maps a multiple of the huge page size at a multiple of it: the mapping is made too long and its ends given back.
void* MapHuge(size_t bytes) {
  const size_t length = RoundUp(bytes, kHugePage);
  // Not reserved: not all of the memory for keys may ever be used.
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* raw = mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (raw == MAP_FAILED) OutOfMemory(bytes);
  std::byte* const begin = static_cast<std::byte*>(raw);
  const size_t skip = RoundUp(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (skip > 0) munmap(begin, skip);
  if (skip < kHugePage) munmap(begin + skip + length, kHugePage - skip);
  madvise(begin + skip, length, MADV_HUGEPAGE);  // advice: without huge pages it is slower, not wrong
  return begin + skip;
}

}  // namespace

void* HostMemory::Allocate(size_t bytes) {
  if (bytes >= kMapFrom) return MapHuge(bytes);
  const size_t rounded = RoundUp(std::max(bytes, size_t{1}), kAlignment);
  void* pointer = std::aligned_alloc(kAlignment, rounded);
  if (pointer == nullptr) OutOfMemory(bytes);
  return std::memset(pointer, 0, rounded);
}

void HostMemory::Free(void* pointer, size_t bytes) {
  if (bytes >= kMapFrom) {
    munmap(pointer, RoundUp(bytes, kHugePage));
  } else {
    std::free(pointer);
  }
}

std::shared_ptr<std::byte> HostMemory::AllocateShared(size_t bytes) {
  return {static_cast<std::byte*>(Allocate(bytes)), [bytes](std::byte* pointer) { HostMemory().Free(pointer, bytes); }};
}

void HostMemory::CopyToDevice(void* device, const void* host, size_t bytes) {
  if (bytes > 0) std::memcpy(device, host, bytes);
}

void HostMemory::CopyToHost(void* host, const void* device, size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}

}  // namespace salient

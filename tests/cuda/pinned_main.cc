// A main for tests of operations on a GPU: all memory that a test takes is memory that kernels can read and write.
//
// The tests hand vectors, and addresses of local variables, to operations, as host backends allow it. Here operator new
// takes from one block of pinned host memory, which has the same address on the GPU, and the tests run in a thread
// whose stack is part of it. So the same tests run on a GPU as they are; that every access crosses the bus is no
// matter.
//
// The kernel cannot wait on an address in memory that a driver has mapped: futex(2) ends in EFAULT there. So nothing
// here waits on pinned memory: main waits for a semaphore in static memory and joins no thread, because pthread_join
// waits on a word of the thread's own stack.

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <semaphore>

namespace {

constexpr size_t kArenaBytes = size_t{2} << 30;
constexpr size_t kStackBytes = size_t{64} << 20;
constexpr size_t kAlignment = 64;

std::byte* g_arena = nullptr;  // null until main has made it: what is taken before is ordinary memory
size_t g_used = 0;
std::mutex g_mutex;

bool InArena(void* pointer) {
  auto* byte = static_cast<std::byte*>(pointer);
  return g_arena != nullptr && byte >= g_arena && byte < g_arena + kArenaBytes;
}

// Blocks of powers of two, kept in lists of their size once they are freed; the size stands before the block.
struct Header {
  Header* next;
  int order;
};
static_assert(sizeof(Header) <= kAlignment);
Header* g_free[48] = {};

void* Take(size_t bytes) {
  if (g_arena == nullptr) return std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
  int order = 7;
  while ((size_t{1} << order) < bytes + kAlignment) ++order;
  std::lock_guard lock(g_mutex);
  Header* header = g_free[order];
  if (header != nullptr) {
    g_free[order] = header->next;
  } else {
    if (g_used + (size_t{1} << order) > kArenaBytes) return nullptr;
    header = reinterpret_cast<Header*>(g_arena + g_used);
    g_used += size_t{1} << order;
  }
  header->order = order;
  return reinterpret_cast<std::byte*>(header) + kAlignment;
}

void Give(void* pointer) {
  if (pointer == nullptr) return;
  if (!InArena(pointer)) return std::free(pointer);
  std::lock_guard lock(g_mutex);
  auto* header = reinterpret_cast<Header*>(static_cast<std::byte*>(pointer) - kAlignment);
  header->next = g_free[header->order];
  g_free[header->order] = header;
}

int g_result = 1;
std::binary_semaphore g_done{0};

void* RunTests(void*) {
  g_result = RUN_ALL_TESTS();
  g_done.release();
  return nullptr;
}

}  // namespace

void* operator new(size_t bytes) {
  void* pointer = Take(bytes);
  if (pointer == nullptr) {
    std::fprintf(stderr, "the tests' pinned memory is used up\n");
    std::abort();
  }
  return pointer;
}
void operator delete(void* pointer) noexcept { Give(pointer); }
void operator delete(void* pointer, size_t) noexcept { Give(pointer); }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  void* arena = nullptr;
  if (const cudaError_t error = cudaHostAlloc(&arena, kArenaBytes, cudaHostAllocMapped | cudaHostAllocPortable);
      error != cudaSuccess) {
    std::fprintf(stderr, "no GPU to test, or no memory to pin: %s\n", cudaGetErrorString(error));
    return 77;  // skipped
  }
  g_arena = static_cast<std::byte*>(arena);
  g_used = kStackBytes;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, g_arena, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, RunTests, nullptr) != 0) {
    std::fprintf(stderr, "cannot start a thread on pinned memory\n");
    return 1;
  }
  g_done.acquire();
  // Static destructors give back into memory that lives as long as the process.
  return g_result;
}

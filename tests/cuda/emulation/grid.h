// Runs a grid of thread blocks on the host: block after block, every thread of a block a fiber.
//
// A thread runs until it waits for others, at a barrier or in a warp-wide operation, or ends; which one goes on then is
// drawn at random. Between two barriers warps take turns evenly, or each goes as far as it can before the next one
// starts: that, too, is drawn. Evenly alone, a fast warp would never do a page of work before a slow one has taken its
// first step. So what a kernel leaves to chance happens in another order at every launch, and a barrier that is missing
// shows as a wrong result. What CUDA forbids ends the process with the reason: threads of a warp in different
// operations, threads that end while others wait for them, barriers that some never reach.
//
// One grid runs at a time; a second host thread waits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <typeinfo>
#include <vector>

namespace salient::emulation {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

struct GridShape {
  Index3 grid{1, 1, 1};
  unsigned threads = 0;  // of a block, a multiple of the warp
  size_t shared_bytes = 0;
};

inline constexpr int kWarpLanes = 32;

// Whether CUDA launches such a grid on a device whose blocks have at most `shared_bytes` of dynamic shared memory.
inline bool Fits(const GridShape& shape, size_t shared_bytes) {
  return shape.grid.x <= 0x7fffffff && shape.grid.y <= 0xffff && shape.threads <= 1024 &&
         shape.shared_bytes <= shared_bytes;
}

// Seeds the order of threads and blocks from here on.
void SeedOrder(uint64_t seed);

void RunGrid(const GridShape& shape, const std::function<void()>& thread);
// Blocks of all grids that have run.
int64_t BlocksRun();

// Kernels that have run on a device's stream (0: the first) since the last call of ForgetKernels, in their order, each
// by the type of its first argument: "CollectFillsArgs".
void NoteKernel(int stream, const std::type_info& first_argument);
std::vector<std::string> KernelsRun(int stream);
void ForgetKernels();

// For threads of a running grid.
struct ThreadIndices {
  Index3 thread, block, block_size, grid_size;
};
extern ThreadIndices g_indices;  // of the thread that runs
unsigned char* SharedMemory();
void BlockBarrier();

// What each lane of the warp contributes, `bytes` of it, to an operation of all of them; valid until the lane's next
// operation but one. `operation` names it, so that lanes in different ones are found out.
constexpr size_t kMostExchanged = 32;
struct Exchanged {
  alignas(16) unsigned char bytes[kWarpLanes][kMostExchanged];
};
const Exchanged& WarpExchange(const char* operation, unsigned mask, const void* value, size_t bytes);

// Asynchronous copies of a thread, of 16 bytes: whether one is made when it is started or when it is waited for is
// drawn at random, too.
struct AsyncCopy {
  void* to;
  const void* from;  // null: zeros
};
void StartCopy(const AsyncCopy& copy);
void CommitCopies();
void WaitForCopies(unsigned pending);  // until at most so many committed groups are under way

}  // namespace salient::emulation

#include "tests/cuda/emulation/grid.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "tests/cuda/emulation/fiber.h"

namespace salient::emulation {

ThreadIndices g_indices;

namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr unsigned kMostThreads = 1024;
constexpr unsigned char kPoison = 0xa5;  // what shared memory holds before a block writes it

[[noreturn]] void Forbidden(const char* what) {
  std::fprintf(stderr, "emulated kernel, block (%u, %u), thread %u: %s\n", g_indices.block.x, g_indices.block.y,
               g_indices.thread.x, what);
  std::abort();
}

struct Warp {
  int lanes = 0, arrived = 0;
  std::vector<unsigned> ready;  // threads that can go on
  unsigned generation = 0;
  const char* operation = nullptr;
  Exchanged exchanged[2];  // operations take turns: a lane may enter the next while others still read this one
};

// A thread's asynchronous copies that are still to be made, by the number of their group.
class Copies {
 public:
  void Start(const AsyncCopy& copy, bool now) { now ? Make(copy) : started_.push_back({copy, groups_}); }
  void Commit() { ++groups_; }
  void Wait(unsigned pending) {
    for (; !started_.empty() && started_.front().group + pending < groups_; started_.pop_front()) {
      Make(started_.front().copy);
    }
  }
  void Clear() {
    started_.clear();
    groups_ = 0;
  }

 private:
  struct Started {
    AsyncCopy copy;
    unsigned group;
  };
  static void Make(const AsyncCopy& copy) {
    copy.from == nullptr ? std::memset(copy.to, 0, 16) : std::memcpy(copy.to, copy.from, 16);
  }

  std::deque<Started> started_;
  unsigned groups_ = 0;
};

class Grid {
 public:
  void Seed(uint64_t seed) { random_ = seed * 2 + 1; }

  void Run(const GridShape& shape, const std::function<void()>& thread) {
    if (shape.threads == 0 || shape.threads % kWarpLanes != 0 || shape.threads > kMostThreads) {
      Forbidden("a block's threads must be a multiple of 32, at most 1024");
    }
    while (fibers_.size() < shape.threads) fibers_.push_back(std::make_unique<Fiber>(kStackBytes));
    thread_ = &thread;
    g_indices.block_size = {shape.threads, 1, 1};
    g_indices.grid_size = shape.grid;
    std::vector<unsigned> blocks(shape.grid.x * shape.grid.y);
    std::iota(blocks.begin(), blocks.end(), 0);
    for (size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[Random(i)]);
    for (const unsigned block : blocks) {
      g_indices.block = {block % shape.grid.x, block / shape.grid.x, 0};
      RunBlock(shape);
    }
  }

  unsigned char* shared() { return shared_.data(); }

  void Barrier() {
    if (++at_barrier_ == alive_) {
      Release();
      return;
    }
    waiting_.push_back(current_);
    Yield();
  }

  const Exchanged& Exchange(const char* operation, unsigned mask, const void* value, size_t bytes) {
    if (mask != 0xffffffffu) Forbidden("a warp-wide operation without all lanes in its mask");
    const unsigned index = current_ / kWarpLanes;
    Warp& warp = warps_[index];
    Exchanged& exchanged = warp.exchanged[warp.generation % 2];
    std::memcpy(exchanged.bytes[current_ % kWarpLanes], value, bytes);
    if (warp.arrived == 0) warp.operation = operation;
    if (std::strcmp(warp.operation, operation) != 0) Forbidden("lanes of a warp in different warp-wide operations");
    if (++warp.arrived < kWarpLanes) {
      if (warp.lanes < kWarpLanes) Forbidden("a warp-wide operation after lanes of the warp have ended");
      Yield();
      return exchanged;
    }
    warp.arrived = 0;
    ++warp.generation;
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const unsigned other = index * kWarpLanes + lane;
      if (other != current_) warp.ready.push_back(other);
    }
    return exchanged;
  }

  void StartCopy(const AsyncCopy& copy) { copies_[current_].Start(copy, Random(2) == 0); }
  void CommitCopies() { copies_[current_].Commit(); }
  void WaitForCopies(unsigned pending) { copies_[current_].Wait(pending); }

  [[noreturn]] void End() {
    --alive_;
    --warps_[current_ / kWarpLanes].lanes;
    if (warps_[current_ / kWarpLanes].arrived > 0) Forbidden("a thread ended while its warp waits for it");
    if (at_barrier_ > 0) Forbidden("a thread ended while others wait for it at a barrier");
    Yield();
    std::abort();  // an ended thread is never made ready
  }

  void CallThread() { (*thread_)(); }

 private:
  static void Entry();

  void RunBlock(const GridShape& shape) {
    shared_.assign(shape.shared_bytes, kPoison);
    alive_ = shape.threads;
    at_barrier_ = 0;
    waiting_.clear();
    warps_.resize(shape.threads / kWarpLanes);
    for (size_t i = 0; i < warps_.size(); ++i) {
      warps_[i].lanes = kWarpLanes;
      warps_[i].arrived = 0;
      warps_[i].ready.resize(kWarpLanes);
      std::iota(warps_[i].ready.begin(), warps_[i].ready.end(), static_cast<unsigned>(i) * kWarpLanes);
    }
    order_.resize(warps_.size());
    std::iota(order_.begin(), order_.end(), 0);
    DrawOrder();
    if (copies_.size() < shape.threads) copies_.resize(shape.threads);
    for (unsigned i = 0; i < shape.threads; ++i) copies_[i].Clear();
    for (unsigned i = 0; i < shape.threads; ++i) fibers_[i]->Start(Entry);
    while (Warp* warp = NextWarp()) {
      std::swap(warp->ready[Random(warp->ready.size())], warp->ready.back());
      current_ = warp->ready.back();
      warp->ready.pop_back();
      g_indices.thread = {current_, 0, 0};
      Fiber::Switch(host_, *fibers_[current_]);
    }
    if (alive_ > 0) Forbidden("threads wait for others that never come");
  }

  // A warp with a thread that can go on: the first such in the order, or any; null where there is none.
  Warp* NextWarp() {
    const size_t first = evenly_ ? Random(order_.size()) : 0;
    for (size_t i = 0; i < order_.size(); ++i) {
      Warp& warp = warps_[order_[(first + i) % order_.size()]];
      if (!warp.ready.empty()) return &warp;
    }
    return nullptr;
  }

  // How warps take turns until the next barrier: evenly, or each goes as far as it can before the next one starts.
  void DrawOrder() {
    evenly_ = Random(2) == 0;
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[Random(i)]);
  }

  void Yield() { Fiber::Switch(*fibers_[current_], host_); }

  void Release() {
    for (const unsigned thread : waiting_) warps_[thread / kWarpLanes].ready.push_back(thread);
    waiting_.clear();
    at_barrier_ = 0;
    DrawOrder();
  }

  size_t Random(size_t below) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return (random_ >> 33) % below;
  }

  uint64_t random_ = 1;
  const std::function<void()>* thread_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber host_;
  std::vector<unsigned> waiting_;  // at the barrier
  std::vector<Warp> warps_;
  std::vector<unsigned> order_;  // of warps
  bool evenly_ = true;
  std::vector<Copies> copies_;  // by thread
  std::vector<unsigned char> shared_;
  unsigned current_ = 0, alive_ = 0, at_barrier_ = 0;
};

Grid& TheGrid() {
  static Grid grid;
  return grid;
}

void Grid::Entry() {
  TheGrid().CallThread();
  TheGrid().End();
}

std::mutex g_mutex;
std::atomic<int64_t> g_blocks{0};
std::map<int, std::vector<const std::type_info*>> g_kernels;  // by stream; guarded by g_mutex

// A type's name without its namespaces.
std::string NameOf(const std::type_info& type) {
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr),
                                                    std::free);
  const std::string full = name == nullptr ? type.name() : name.get();
  return full.substr(full.rfind(':') + 1);
}

}  // namespace

void SeedOrder(uint64_t seed) {
  std::lock_guard lock(g_mutex);
  TheGrid().Seed(seed);
}

void RunGrid(const GridShape& shape, const std::function<void()>& thread) {
  std::lock_guard lock(g_mutex);
  TheGrid().Run(shape, thread);
  g_blocks += int64_t{shape.grid.x} * shape.grid.y;
}

int64_t BlocksRun() { return g_blocks.load(); }

void NoteKernel(int stream, const std::type_info& first_argument) {
  std::lock_guard lock(g_mutex);
  g_kernels[stream].push_back(&first_argument);
}
std::vector<std::string> KernelsRun(int stream) {
  std::lock_guard lock(g_mutex);
  std::vector<std::string> names;
  for (const std::type_info* type : g_kernels[stream]) names.push_back(NameOf(*type));
  return names;
}
void ForgetKernels() {
  std::lock_guard lock(g_mutex);
  g_kernels.clear();
}

unsigned char* SharedMemory() { return TheGrid().shared(); }
void BlockBarrier() { TheGrid().Barrier(); }
void StartCopy(const AsyncCopy& copy) { TheGrid().StartCopy(copy); }
void CommitCopies() { TheGrid().CommitCopies(); }
void WaitForCopies(unsigned pending) { TheGrid().WaitForCopies(pending); }

const Exchanged& WarpExchange(const char* operation, unsigned mask, const void* value, size_t bytes) {
  return TheGrid().Exchange(operation, mask, value, bytes);
}

}  // namespace salient::emulation

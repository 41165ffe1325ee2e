#include "tests/cuda/emulation/gpu.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

namespace salient::emulation {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kMostWaiting = 4096;   // in a queue; what is given beyond them runs at once
constexpr unsigned char kFreed = 0xa5;  // what pinned memory holds when it is given back

size_t Rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

constexpr size_t kMemoryBytes = size_t{1} << 30;  // of a device: address space, used as it is written

// The memories of all devices: one GPU's to those who use it (Device::AllocateShared), so that it is accessible while
// work of any device runs.
class Memories {
 public:
  std::byte* Open() {
    std::lock_guard lock(mutex_);
    void* memory = mmap(nullptr, kMemoryBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("emulated device memory");
      std::abort();
    }
    // On huge pages, where there are any, making it accessible and inaccessible costs next to nothing.
    madvise(memory, kMemoryBytes, MADV_HUGEPAGE);
    open_.insert(memory);
    Protect();
    return static_cast<std::byte*>(memory);
  }
  void Close(std::byte* memory) {
    std::lock_guard lock(mutex_);
    open_.erase(memory);
    munmap(memory, kMemoryBytes);
  }
  void Use(int more) {
    std::lock_guard lock(mutex_);
    const bool used = users_ > 0;
    users_ += more;
    if (used != (users_ > 0)) Protect();
  }

 private:
  void Protect() {
    for (void* memory : open_) mprotect(memory, kMemoryBytes, users_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

  std::mutex mutex_;
  std::set<void*> open_;
  int users_ = 0;
};

Memories g_memories;

// Device memory is accessible while this lives.
class Access {
 public:
  Access() { g_memories.Use(1); }
  ~Access() { g_memories.Use(-1); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};

}  // namespace

Gpu::Gpu() : limit_(kMemoryBytes), memory_(g_memories.Open()) {}

Gpu::~Gpu() { g_memories.Close(memory_); }

void Gpu::Limit(size_t bytes) { limit_ = std::min(bytes, kMemoryBytes); }

void* Gpu::Allocate(size_t bytes) {
  bytes = Rounded(bytes);
  if (in_use_ + bytes > limit_ || (fail_allocation_ >= 0 && fail_allocation_-- == 0)) return nullptr;
  std::byte* pointer = nullptr;
  if (const auto at = free_.find(bytes); at != free_.end()) {
    pointer = at->second;
    free_.erase(at);
  } else {
    if (used_ + bytes > kMemoryBytes) return nullptr;
    pointer = memory_ + used_;
    used_ += bytes;
  }
  taken_[pointer] = bytes;
  in_use_ += bytes;
  return pointer;
}

void Gpu::Free(void* pointer) {
  const auto at = taken_.find(static_cast<std::byte*>(pointer));
  free_.emplace(at->second, at->first);
  in_use_ -= at->second;
  taken_.erase(at);
}

void* Gpu::AllocatePinned(size_t bytes) {
  if (fail_pinned_ >= 0 && fail_pinned_-- == 0) return nullptr;
  void* pointer = std::aligned_alloc(kAlignment, Rounded(bytes));
  pinned_[static_cast<std::byte*>(pointer)] = Rounded(bytes);
  return pointer;
}

void Gpu::FreePinned(void* pointer) {
  const auto at = pinned_.find(static_cast<std::byte*>(pointer));
  std::memset(pointer, kFreed, at->second);
  pinned_.erase(at);
  std::free(pointer);
}

bool Gpu::IsPinned(const void* pointer) const {
  const auto* byte = static_cast<const std::byte*>(pointer);
  const auto after = pinned_.upper_bound(byte);
  return after != pinned_.begin() && byte < std::prev(after)->first + std::prev(after)->second;
}

int Gpu::OpenStream() {
  streams_.emplace_back();
  return static_cast<int>(streams_.size()) - 1;
}

void Gpu::Enqueue(int stream, std::function<void()> work) {
  streams_[stream].queue.push_back({std::move(work)});
  ++streams_[stream].given;
  if (streams_[stream].queue.size() > kMostWaiting) {
    RunUntil(stream, given(stream));
  } else if (eager_ && Random(16) == 0) {
    RunSome();
  }
}

void Gpu::Order(int stream, int other) {
  streams_[stream].queue.push_back({nullptr, other, given(other)});
  ++streams_[stream].given;
}

bool Gpu::CanGoOn(int stream) const {
  const std::deque<Work>& queue = streams_[stream].queue;
  return !queue.empty() && (queue.front().run || done(queue.front().other) >= queue.front().done);
}

void Gpu::RunOne(int stream) {
  const Work work = std::move(streams_[stream].queue.front());
  streams_[stream].queue.pop_front();
  if (!work.run) return;
  if (fail_after_ >= 0 && fail_after_-- == 0) {
    failed_ = true;
    Drop();
    return;
  }
  work.run();
}

// The favourite if it can go on, else any that can; the favourite where none can.
int Gpu::Choose(int favourite) {
  if (CanGoOn(favourite)) return favourite;
  std::vector<int> others;
  for (int stream = 0; stream < static_cast<int>(streams_.size()); ++stream) {
    if (CanGoOn(stream)) others.push_back(stream);
  }
  return others.empty() ? favourite : others[Random(others.size())];
}

void Gpu::RunUntil(int stream, uint64_t until) {
  const Access access;
  const bool evenly = Random(2) == 0;
  const int favourite = RandomStream();
  while (done(stream) < until) RunOne(Choose(evenly ? RandomStream() : favourite));
  eager_ = Random(4) == 0;
}

void Gpu::RunSome() {
  const Access access;
  const int favourite = RandomStream();
  for (size_t left = Random(64); left > 0; --left) {
    const int stream = Choose(favourite);
    if (!CanGoOn(stream)) return;
    RunOne(stream);
  }
}

void Gpu::RunAll() {
  for (int stream = 0; stream < static_cast<int>(streams_.size()); ++stream) RunUntil(stream, given(stream));
}

void Gpu::Drop() {
  for (Stream& stream : streams_) stream.queue.clear();
}

}  // namespace salient::emulation

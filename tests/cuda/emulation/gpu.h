// The memory and the streams of an emulated device (emulated_device.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "tests/cuda/emulation/emulated_device.h"

namespace salient::emulation {

// Not thread safe.
class Gpu {
 public:
  Gpu();
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void* Allocate(size_t bytes);
  void Free(void* pointer);
  void* AllocatePinned(size_t bytes);
  void FreePinned(void* pointer);
  bool IsPinned(const void* pointer) const;
  size_t free_bytes() const { return limit_ - in_use_; }

  int OpenStream();
  void Enqueue(int stream, std::function<void()> work);
  // The stream goes no further before `other` has come past all that it was given so far.
  void Order(int stream, int other);
  // How much a stream was given, and how much of it is done.
  uint64_t given(int stream) const { return streams_[stream].given; }
  uint64_t done(int stream) const { return streams_[stream].given - streams_[stream].queue.size(); }
  // Runs until so much of the stream is done, and of any stream what chance has it.
  void RunUntil(int stream, uint64_t done);
  void RunSome();
  void RunAll();
  // Forgets all that was not run.
  void Drop();

  // Memory is limited to so many bytes; the allocation, or the work, after so many more fails: once.
  void Limit(size_t bytes);
  void FailAllocation(int64_t allocations, bool pinned) { (pinned ? fail_pinned_ : fail_allocation_) = allocations; }
  void FailAfter(int64_t works, bool lasts) {
    fail_after_ = works;
    failure_lasts_ = lasts;
  }
  // Whether it has; then nothing runs any more.
  bool failed() const { return failed_; }
  bool failure_lasts() const { return failure_lasts_; }

 private:
  struct Work {
    std::function<void()> run;  // or, where there is none, a wait:
    int other = 0;
    uint64_t done = 0;  // of `other`
  };
  struct Stream {
    std::deque<Work> queue;
    uint64_t given = 0;
  };

  bool CanGoOn(int stream) const;
  void RunOne(int stream);
  int Choose(int favourite);
  size_t Random(size_t below) { return random_() % below; }
  int RandomStream() { return static_cast<int>(Random(streams_.size())); }

  size_t limit_, in_use_ = 0;
  std::byte* const memory_;
  size_t used_ = 0;  // of the address space
  int64_t fail_allocation_ = -1, fail_pinned_ = -1, fail_after_ = -1;
  bool failed_ = false, failure_lasts_ = false;
  std::multimap<size_t, std::byte*> free_;
  std::map<std::byte*, size_t> taken_;
  std::map<const std::byte*, size_t> pinned_;
  std::vector<Stream> streams_;
  bool eager_ = true;  // until the host waits again: runs what it is given soon, or nothing
  std::minstd_rand random_;
};

}  // namespace salient::emulation

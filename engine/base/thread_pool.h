// The CPU backend's own threads: a fixed few, pinned, each computing a part of one operation at a time.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace salient {

// Runs one parallel loop at a time. Used by one thread at a time; that thread works too. Between loops the threads
// spin for a moment before they sleep, because the operations of a decoding step follow each other within microseconds.
class ThreadPool {
 public:
  // `threads` in all, the caller's included; 0: one a core that this process may use.
  explicit ThreadPool(int threads);
  ~ThreadPool();

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(i, thread) for every i in [0, tasks), each once, in any order, and returns when all are done. `thread`
  // is below threads() and constant for a thread, for scratch space. Loops do not nest.
  void ParallelFor(int64_t tasks, const std::function<void(int64_t i, int thread)>& body);

 private:
  void Work(int thread);
  void RunTasks(int thread);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> loop_{0};  // counts loops; a worker joins when it changes
  std::atomic<int64_t> next_{0};
  std::atomic<int> busy_{0};
  int64_t tasks_ = 0;
  const std::function<void(int64_t, int)>* body_ = nullptr;
  std::atomic<bool> stop_{false};
};

}  // namespace salient

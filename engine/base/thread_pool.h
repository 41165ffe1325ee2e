// The threads of the CPU backend: a fixed number, which compute one operation at a time together.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace salient {

// Runs one parallel loop at a time. Only one thread at a time may use the pool; that thread runs tasks, too. Between
// loops the threads spin for a short time before they sleep, because the operations of a decoding step follow each
// other within microseconds.
//
// A loop ends when its tasks are done, even if some threads never noticed it. So a thread that wakes late or is
// descheduled delays nothing. The ticket makes this safe: it is one word with the number of the loop and the next task.
// A thread claims a task by compare-and-swap of the whole word, so a late thread cannot claim a task of a later loop.
class ThreadPool {
 public:
  // `threads` includes the caller's thread; 0: DefaultThreads(). Threads are pinned to cores only if OwnsItsCores()
  // (cpu_share.h).
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(i, thread) for every i in [0, tasks), each once, in any order, and returns when all are done. `thread`
  // is below threads() and constant for a thread, for scratch space. Loops do not nest. `tasks` is below 2^32 - 1.
  void ParallelFor(int64_t tasks, const std::function<void(int64_t i, int thread)>& body);

 private:
  void Work(int thread);
  // Claims and runs tasks of the current loop until none is left.
  void RunTasks(int thread);
  bool HasTask() const;
  // True when there is a task or the pool stops; false when it is time to sleep.
  bool SpinForTask() const;

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};

  std::atomic<uint64_t> ticket_;  // upper half: number of the loop; lower half: its next task, or kClosed
  std::atomic<int64_t> tasks_{0};
  std::atomic<const std::function<void(int64_t, int)>*> body_{nullptr};
  std::atomic<int64_t> unfinished_{0};
};

}  // namespace salient

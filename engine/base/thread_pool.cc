#include "engine/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

namespace salient {
namespace {

// Longer than between two operations, shorter than a step.
constexpr std::chrono::microseconds kSpinTime(100);
constexpr int kPausesBetweenLooks = 32;

constexpr uint64_t kClosed = 0xffffffff;
constexpr uint64_t TaskOf(uint64_t ticket) { return ticket & kClosed; }
constexpr uint64_t NextLoop(uint64_t ticket) { return (ticket | kClosed) + 1; }

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The cores that this process may use.
std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  return cores;
}

}  // namespace

ThreadPool::ThreadPool(int threads) : ticket_(kClosed) {
  const std::vector<int> cores = AllowedCores();
  if (threads <= 0) threads = std::max<int>(1, static_cast<int>(cores.size()));
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread, cores] {
      // Only where there is a core for each: several threads pinned to one core would wait for each other.
      if (static_cast<size_t>(thread) < cores.size()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cores[thread], &set);
        sched_setaffinity(0, sizeof(set), &set);
      }
      Work(thread);
    });
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::ParallelFor(int64_t tasks, const std::function<void(int64_t, int)>& body) {
  if (tasks <= 1 || workers_.empty()) {
    for (int64_t i = 0; i < tasks; ++i) body(i, 0);
    return;
  }
  // Closed before the loop's description changes: a thread that still looks at the last loop then fails to claim.
  const uint64_t loop = NextLoop(ticket_.load());
  ticket_ = loop | kClosed;
  tasks_ = tasks;
  body_ = &body;
  unfinished_ = tasks;
  ticket_ = loop;
  // Either this sees the sleeper, or the sleeper, who counts itself before its last look, sees the ticket.
  if (sleepers_.load() > 0) {
    { std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  RunTasks(0);
  for (int look = 0; unfinished_.load() != 0; ++look) {
    Pause();
    if (look % 1024 == 1023) sched_yield();  // the thread that has the last task may be waiting for this core
  }
}

bool ThreadPool::HasTask() const {
  const uint64_t task = TaskOf(ticket_.load());
  return task != kClosed && static_cast<int64_t>(task) < tasks_.load();
}

void ThreadPool::RunTasks(int thread) {
  uint64_t ticket = ticket_.load();
  while (true) {
    const uint64_t task = TaskOf(ticket);
    const auto* body = body_.load();
    if (task == kClosed || static_cast<int64_t>(task) >= tasks_.load()) return;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1)) continue;
    (*body)(static_cast<int64_t>(task), thread);
    unfinished_.fetch_sub(1);
    ticket = ticket_.load();
  }
}

bool ThreadPool::SpinForTask() const {
  const auto until = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kPausesBetweenLooks; ++i) {
      if (HasTask() || stop_.load()) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

void ThreadPool::Work(int thread) {
  while (!stop_.load()) {
    if (!SpinForTask()) {
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1);
      wake_.wait(lock, [this] { return stop_.load() || HasTask(); });
      sleepers_.fetch_sub(1);
    }
    RunTasks(thread);
  }
}

}  // namespace salient

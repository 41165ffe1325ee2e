#include "engine/base/thread_pool.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>

namespace salient {
namespace {

constexpr int kSpins = 20000;  // some 50 microseconds: longer than between two operations, shorter than a step

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

ThreadPool::ThreadPool(int threads) {
  const std::vector<int> cores = AllowedCores();
  if (threads <= 0) threads = std::max<int>(1, static_cast<int>(cores.size()));
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread, cores] {
      // Only where there is a core for each: sharing pinned cores with another process's pool would starve both.
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
  // oneDNN would start OpenMP threads of its own in whichever thread calls it; the setting is a thread's own.
  thread_local const bool one_openmp_thread = (omp_set_num_threads(1), true);
  (void)one_openmp_thread;
  if (tasks <= 1 || workers_.empty()) {
    for (int64_t i = 0; i < tasks; ++i) body(i, 0);
    return;
  }
  body_ = &body;
  tasks_ = tasks;
  next_ = 0;
  busy_ = static_cast<int>(workers_.size());
  {
    std::lock_guard lock(mutex_);  // a worker between its last look and its sleep must not miss this
    loop_.fetch_add(1);
  }
  wake_.notify_all();
  RunTasks(0);
  while (busy_.load() != 0) Pause();
}

void ThreadPool::RunTasks(int thread) {
  for (int64_t i = next_.fetch_add(1); i < tasks_; i = next_.fetch_add(1)) (*body_)(i, thread);
}

void ThreadPool::Work(int thread) {
  omp_set_num_threads(1);
  uint64_t seen = 0;
  while (true) {
    for (int spin = 0; spin < kSpins && loop_.load() == seen && !stop_.load(); ++spin) Pause();
    if (loop_.load() == seen) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_.load() || loop_.load() != seen; });
    }
    if (stop_.load()) return;
    seen = loop_.load();
    RunTasks(thread);
    busy_.fetch_sub(1);
  }
}

}  // namespace salient

#include "server/admission_retry_queue.h"

#include <chrono>
#include <utility>
#include <vector>

namespace salient {
namespace {

constexpr std::chrono::milliseconds kLookEvery(20);

}  // namespace

AdmissionRetryQueue::AdmissionRetryQueue() : thread_([this] { Run(); }) {}

AdmissionRetryQueue::~AdmissionRetryQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void AdmissionRetryQueue::Wait(const void* queue, Attempt attempt) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queues_[queue].push_back(std::move(attempt));
    nudged_ = true;
  }
  wake_.notify_all();
}

void AdmissionRetryQueue::Nudge() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queues_.empty()) return;
    nudged_ = true;
  }
  wake_.notify_all();
}

void AdmissionRetryQueue::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    const auto has_cause = [this] { return stopping_ || nudged_; };
    if (queues_.empty()) {
      wake_.wait(lock, has_cause);
    } else {
      wake_.wait_for(lock, kLookEvery, has_cause);
    }
    if (stopping_) return;
    nudged_ = false;
    lock.unlock();
    TryAll();
    lock.lock();
  }
}

void AdmissionRetryQueue::TryAll() {
  std::vector<const void*> engines;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [queue, attempts] : queues_) engines.push_back(queue);
  }
  for (const void* engine : engines) {
    bool admitted = true;
    while (admitted) {
      // Only this thread takes attempts out, so the front stays what it is while it is made.
      Attempt attempt;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        attempt = queues_[engine].front();
      }
      admitted = attempt();
      std::lock_guard<std::mutex> lock(mutex_);
      auto found = queues_.find(engine);
      if (admitted) found->second.pop_front();
      if (found->second.empty()) {
        queues_.erase(found);
        break;
      }
    }
  }
}

}  // namespace salient

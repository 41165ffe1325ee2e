#include "server/admission/retry_queue.h"

#include <chrono>
#include <vector>

namespace salient {
namespace {

constexpr std::chrono::milliseconds kRetryEvery(20);

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

void AdmissionRetryQueue::Wait(const void* engine, const std::string& client, Waiting document) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queues_[{engine, client}].push_back({arrived_++, std::move(document)});
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
      wake_.wait_for(lock, kRetryEvery, has_cause);
    }
    if (stopping_) return;
    nudged_ = false;
    lock.unlock();
    EndThoseThatAreOver();
    TryAll();
    lock.lock();
  }
}

void AdmissionRetryQueue::EndThoseThatAreOver() {
  std::vector<std::pair<Key, Entry>> ended;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, entries] : queues_) {
      for (const Entry& entry : entries) {
        if (entry.document.over()) ended.emplace_back(key, entry);
      }
    }
  }
  for (const auto& [key, entry] : ended) {
    if (entry.document.attempt()) Erase(key, entry.number);
  }
}

void AdmissionRetryQueue::TryAll() {
  std::map<int64_t, std::pair<Key, Entry>> firsts;  // of each key, in order of arrival
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, entries] : queues_) firsts.emplace(entries.front().number, std::pair(key, entries.front()));
  }
  while (!firsts.empty()) {
    const auto [key, entry] = firsts.extract(firsts.begin()).mapped();
    if (!entry.document.attempt()) continue;
    if (std::optional<Entry> next = Erase(key, entry.number)) {
      const int64_t number = next->number;
      firsts.emplace(number, std::pair(key, *std::move(next)));
    }
  }
}

// Only this queue's thread takes documents out.
std::optional<AdmissionRetryQueue::Entry> AdmissionRetryQueue::Erase(const Key& key, int64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = queues_.find(key);
  std::erase_if(found->second, [number](const Entry& entry) { return entry.number == number; });
  if (!found->second.empty()) return found->second.front();
  queues_.erase(found);
  return std::nullopt;
}

}  // namespace salient

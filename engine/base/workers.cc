#include "engine/base/workers.h"

#include <utility>

namespace salient {

Workers::Workers(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void Workers::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Workers::Post(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Workers::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before the lock is taken
    lock.lock();
  }
}

void Lane::Post(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (tasks_.size() > 1) return;
  }
  workers_.Post([self = shared_from_this()] { self->RunOne(); });
}

// One, so that lanes take turns.
void Lane::RunOne() {
  std::function<void()>* first = nullptr;
  {
    std::lock_guard lock(mutex_);
    first = &tasks_.front();  // which stays where it is while others are added
  }
  (*first)();
  {
    std::lock_guard lock(mutex_);
    tasks_.pop_front();
    if (tasks_.empty()) return;
  }
  workers_.Post([self = shared_from_this()] { self->RunOne(); });
}

void NamedLanes::Post(const std::string& name, std::function<void()> task) {
  std::shared_ptr<Lane> lane;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(lanes_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Lane>& place = lanes_[name];
    lane = place.lock();
    if (lane == nullptr) place = lane = std::make_shared<Lane>(workers_);
  }
  lane->Post(std::move(task));
}

}  // namespace salient

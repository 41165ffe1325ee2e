#include "server/translation/in_flight.h"

#include <algorithm>
#include <utility>

namespace salient {

void Cancellation::Attach(std::shared_ptr<TranslationTicket> ticket) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!cancelled_) {
      ticket_ = std::move(ticket);
      return;
    }
  }
  ticket->Cancel();
}

void Cancellation::Cancel() {
  std::shared_ptr<TranslationTicket> ticket;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    ticket = std::move(ticket_);
  }
  if (ticket != nullptr) ticket->Cancel();
}

bool Cancellation::cancelled() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return cancelled_;
}

absl::StatusOr<std::unique_ptr<InFlight::Slot>> InFlight::Enter() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (draining_) {
    return absl::UnavailableError("the server is shutting down and takes no new documents; send it to another one");
  }
  const uint64_t id = next_id_++;
  documents_[id];
  return std::make_unique<Slot>(*this, id);
}

void InFlight::StartDraining() {
  std::vector<Watcher> watchers;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    draining_ = true;
    watchers.swap(watchers_);
  }
  for (const Watcher& watcher : watchers) {
    if (const auto owner = watcher.owner.lock()) watcher.callback();
  }
}

bool InFlight::draining() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return draining_;
}

void InFlight::OnDrain(std::weak_ptr<void> owner, std::function<void()> callback) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!draining_) {
      // Those that have gone since are dropped here, which keeps the list as short as there are owners alive.
      watchers_.erase(std::remove_if(watchers_.begin(), watchers_.end(),
                                     [](const Watcher& watcher) { return watcher.owner.expired(); }),
                      watchers_.end());
      watchers_.push_back({std::move(owner), std::move(callback)});
      return;
    }
  }
  callback();
}

bool InFlight::WaitIdle(absl::Duration timeout) {
  const auto is_idle = [this] { return documents_.empty(); };
  std::unique_lock<std::mutex> lock(mutex_);
  if (timeout == absl::InfiniteDuration()) {
    idle_.wait(lock, is_idle);
    return true;
  }
  return idle_.wait_for(lock, absl::ToChronoMilliseconds(timeout), is_idle);
}

int InFlight::CancelAll() {
  std::vector<std::shared_ptr<TranslationTicket>> tickets;
  int count = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    count = static_cast<int>(documents_.size());
    for (const auto& [id, of_document] : documents_) {
      for (const auto& weak : of_document) {
        if (auto ticket = weak.lock()) tickets.push_back(std::move(ticket));
      }
    }
  }
  for (const auto& ticket : tickets) ticket->Cancel();
  return count;
}

bool InFlight::stopped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stopped_;
}

int InFlight::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(documents_.size());
}

void InFlight::Leave(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  documents_.erase(id);
  if (documents_.empty()) idle_.notify_all();
}

void InFlight::AddTicket(uint64_t id, const std::shared_ptr<TranslationTicket>& ticket) {
  bool too_late = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = documents_.find(id);
    if (found == documents_.end()) return;  // finished already
    found->second.push_back(ticket);
    too_late = stopped_;
  }
  if (too_late) ticket->Cancel();
}

}  // namespace salient

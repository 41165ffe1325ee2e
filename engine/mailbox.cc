#include "engine/mailbox.h"

namespace salient {

void Mailbox::Ring() {
  {
    std::lock_guard lock(mutex_);
    rung_ = true;
  }
  condition_.notify_all();
}

void Mailbox::Cancel(int64_t document) {
  {
    std::lock_guard lock(mutex_);
    rung_ = true;
    cancelled_.push_back(document);
  }
  condition_.notify_all();
}

void Mailbox::WaitFor(absl::Duration time) {
  std::unique_lock lock(mutex_);
  condition_.wait_for(lock, absl::ToChronoMilliseconds(time), [this] { return rung_; });
  rung_ = false;
}

void Mailbox::WaitUntil(absl::Time time) {
  std::unique_lock lock(mutex_);
  const auto rung = [this] { return rung_; };
  if (time == absl::InfiniteFuture()) {
    condition_.wait(lock, rung);
  } else {
    condition_.wait_until(lock, absl::ToChronoTime(time), rung);
  }
  rung_ = false;
}

std::vector<int64_t> Mailbox::TakeCancelled() {
  std::lock_guard lock(mutex_);
  return std::exchange(cancelled_, {});
}

void Mailbox::PutBack(const std::vector<int64_t>& cancelled) {
  std::lock_guard lock(mutex_);
  cancelled_.insert(cancelled_.end(), cancelled.begin(), cancelled.end());
}

}  // namespace salient

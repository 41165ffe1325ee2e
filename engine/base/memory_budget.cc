#include "engine/base/memory_budget.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace salient {

int64_t MemoryBudget::taken() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

bool MemoryBudget::Take(Member& member, int64_t bytes) {
  if (taken_ > 0 && taken_ + bytes > bytes_) return false;
  taken_ += bytes;
  member.taken_ += bytes;
  return true;
}

void MemoryBudget::Leave(Member& member) {
  const bool first = !line_.empty() && line_.front() == &member;
  std::erase(line_, &member);
  if (first) NotifyFirst();
}

void MemoryBudget::NotifyFirst() {
  if (!line_.empty()) line_.front()->look_();
}

MemoryBudget::Member::Member(MemoryBudget& budget, std::function<void()> look)
    : budget_(budget), look_(std::move(look)) {
  std::lock_guard lock(budget_.mutex_);
  place_ = budget_.members_.insert(budget_.members_.end(), this);
}

MemoryBudget::Member::~Member() {
  std::lock_guard lock(budget_.mutex_);
  budget_.members_.erase(place_);
  budget_.taken_ -= taken_;
  std::erase(budget_.line_, this);
  budget_.NotifyFirst();
}

bool MemoryBudget::Member::TakeInLine(int64_t bytes) {
  std::lock_guard lock(budget_.mutex_);
  std::deque<Member*>& line = budget_.line_;
  if ((line.empty() || line.front() == this) && budget_.Take(*this, bytes)) {
    budget_.Leave(*this);
    return true;
  }
  if (std::find(line.begin(), line.end(), this) != line.end()) return false;
  line.push_back(this);
  for (Member* const member : budget_.members_) {
    if (member != this) member->look_();
  }
  return false;
}

bool MemoryBudget::Member::TakeOutOfLine(int64_t bytes) {
  std::lock_guard lock(budget_.mutex_);
  return budget_.Take(*this, bytes);
}

void MemoryBudget::Member::StopWaiting() {
  std::lock_guard lock(budget_.mutex_);
  budget_.Leave(*this);
}

void MemoryBudget::Member::GiveBack(int64_t bytes) {
  std::lock_guard lock(budget_.mutex_);
  SALIENT_CHECK(bytes >= 0 && bytes <= taken_);
  taken_ -= bytes;
  budget_.taken_ -= bytes;
  budget_.NotifyFirst();
}

bool MemoryBudget::Member::others_wait() const {
  std::lock_guard lock(budget_.mutex_);
  return !budget_.line_.empty() && budget_.line_.front() != this;
}

}  // namespace salient

// The pages of one of an engine's stores that the scheduler may hand out, if engines share memory: so many as their
// bytes were taken from the budget. Taken bytes are kept, with the pages that they pay for, until others want them.
//
// Not thread safe; the step loop owns it.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/base/memory_budget.h"

namespace salient {

class PageShare {
 public:
  // `budget` may be null: then every page of the store may be handed out. `look` as MemoryBudget::Member's.
  PageShare(MemoryBudget* budget, int64_t page_bytes, const std::function<void()>& look) : page_bytes_(page_bytes) {
    if (budget != nullptr) member_.emplace(*budget, look);
  }

  // Between these two, Cover was asked for all new work there is. If it was not in vain, the engine waits no longer.
  void BeginAsking() { in_vain_ = false; }
  void EndAsking() {
    if (!in_vain_) StopWaiting();
    waiting_ = in_vain_;
  }
  void StopWaiting() {
    if (waiting_) member_->StopWaiting();
    waiting_ = false;
  }

  // Whether so many pages in all may be handed out, for new work.
  bool Cover(int64_t pages) {
    if (Charge(pages, [this](int64_t bytes) { return member_->TakeInLine(bytes); })) return true;
    in_vain_ = true;
    return false;
  }
  // The same for work that has begun.
  bool Grow(int64_t pages) {
    return Charge(pages, [this](int64_t bytes) { return member_->TakeOutOfLine(bytes); });
  }

  // Whether the engine waits for memory that others have.
  bool waiting() const { return waiting_; }
  // Whether others want what this engine does not use: then Keep.
  bool wanted() const { return member_.has_value() && member_->others_wait(); }
  // Gives back all but so many pages.
  void Keep(int64_t pages) {
    if (pages >= paid_) return;
    member_->GiveBack((paid_ - pages) * page_bytes_);
    paid_ = pages;
  }

 private:
  template <typename Take>
  bool Charge(int64_t pages, const Take& take) {
    if (!member_.has_value() || pages <= paid_) return true;
    if (!take((pages - paid_) * page_bytes_)) return false;
    paid_ = pages;
    return true;
  }

  const int64_t page_bytes_;
  std::optional<MemoryBudget::Member> member_;
  int64_t paid_ = 0;  // pages
  bool in_vain_ = false, waiting_ = false;
};

}  // namespace salient

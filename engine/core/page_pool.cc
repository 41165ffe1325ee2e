#include "engine/core/page_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/check.h"

namespace salient {

PagePool::PagePool(std::byte* base, int32_t units) : base_(base), units_(units) {
  SALIENT_CHECK(units >= 0 && units <= kMostPageUnits);
  if (units > 0) free_[0] = units;
}

int32_t PagePool::taken() const {
  std::lock_guard lock(mutex_);
  int32_t taken = units_;
  for (const auto& [first, units] : free_) taken -= units;
  return taken;
}

bool PagePool::TakeInLine(PageShare& share, int32_t count) {
  std::lock_guard lock(mutex_);
  if ((line_.empty() || line_.front() == &share) && Take(share, count)) {
    LeaveLine(share);
    return true;
  }
  if (std::find(line_.begin(), line_.end(), &share) != line_.end()) return false;
  line_.push_back(&share);
  for (PageShare* const other : shares_) {
    if (other != &share) other->look_();
  }
  return false;
}

bool PagePool::TakeOutOfLine(PageShare& share, int32_t count) {
  std::lock_guard lock(mutex_);
  return Take(share, count);
}

// All of them or none.
bool PagePool::Take(PageShare& share, int32_t count) {
  const int32_t size = share.page_units_;
  int32_t room = 0;
  for (auto extent = free_.begin(); extent != free_.end() && room < count; ++extent) room += extent->second / size;
  if (room < count) return false;
  for (auto extent = free_.begin(); count > 0;) {
    const auto [first, units] = *extent;
    const int32_t pages = std::min(count, units / size), rest = units - pages * size;
    for (int32_t i = 0; i < pages; ++i) share.free_.push_front(first + i * size);
    count -= pages;
    extent = free_.erase(extent);
    if (rest > 0) extent = std::next(free_.emplace_hint(extent, first + pages * size, rest));
  }
  return true;
}

void PagePool::GiveBack(const std::vector<int32_t>& pages, int32_t page_units) {
  std::lock_guard lock(mutex_);
  for (const int32_t page : pages) Free(page, page_units);
  TellFirst();
}

// Joins the extents before and after it.
void PagePool::Free(int32_t first, int32_t units) {
  auto after = free_.lower_bound(first);
  if (after != free_.end() && after->first == first + units) {
    units += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin() && std::prev(after)->first + std::prev(after)->second == first) {
    std::prev(after)->second += units;
  } else {
    free_.emplace_hint(after, first, units);
  }
}

bool PagePool::somebody_waits() const {
  std::lock_guard lock(mutex_);
  return !line_.empty();
}

void PagePool::StopWaiting(PageShare& share) {
  std::lock_guard lock(mutex_);
  LeaveLine(share);
}

void PagePool::LeaveLine(PageShare& share) {
  const bool first = !line_.empty() && line_.front() == &share;
  std::erase(line_, &share);
  if (first) TellFirst();
}

void PagePool::TellFirst() {
  if (!line_.empty()) line_.front()->look_();
}

PageShare::PageShare(PagePool& pool, int32_t page_units, std::function<void()> look)
    : pool_(pool), page_units_(page_units), look_(std::move(look)) {
  SALIENT_CHECK(page_units > 0);
  std::lock_guard lock(pool_.mutex_);
  pool_.shares_.push_back(this);
}

PageShare::~PageShare() {
  free_.insert(free_.end(), taken_.begin(), taken_.end());
  taken_.clear();
  std::lock_guard lock(pool_.mutex_);
  for (const int32_t page : free_) pool_.Free(page, page_units_);
  std::erase(pool_.shares_, this);
  std::erase(pool_.line_, this);
  pool_.TellFirst();
}

void PageShare::EndAsking() {
  if (!in_vain_) StopWaiting();
  waiting_ = in_vain_;
}

void PageShare::StopWaiting() {
  if (waiting_) pool_.StopWaiting(*this);
  waiting_ = false;
}

bool PageShare::Cover(int32_t pages) {
  if (pages <= held() || pool_.TakeInLine(*this, pages - held())) return true;
  in_vain_ = true;
  return false;
}

bool PageShare::Grow(int32_t pages) { return pages <= held() || pool_.TakeOutOfLine(*this, pages - held()); }

void PageShare::Keep(int32_t pages) {
  const auto given = std::min<int64_t>(std::max(held() - pages, 0), static_cast<int64_t>(free_.size()));
  if (given == 0) return;
  pool_.GiveBack({free_.begin(), free_.begin() + given}, page_units_);
  free_.erase(free_.begin(), free_.begin() + given);
}

int32_t PageShare::Take() {
  if (free_.empty()) SALIENT_CHECK(Grow(held() + 1));
  const int32_t page = free_.back();
  free_.pop_back();
  taken_.insert(page);
  return page;
}

void PageShare::Return(const std::vector<int32_t>& pages) {
  for (const int32_t page : pages) SALIENT_CHECK(taken_.erase(page) == 1);
  free_.insert(free_.end(), pages.rbegin(), pages.rend());
}

}  // namespace salient

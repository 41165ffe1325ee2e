// Memory for pages of keys that several engines share: an area of a device's memory, handed out as pages.
//
// An engine's store has a share of the pool: it takes pages when it needs them, and may take all there are. It keeps
// what it took; but when another one asks in vain, all are told, give back what they do not use, and begin nothing new
// before the one that waits has what it asked for:
//
//   * Who asks in vain waits in line. While somebody waits, only the first in line is given pages for new work.
//   * Work that has begun may grow out of line, if there are pages. So what has begun ends, and its pages come back.
//
// So everyone gets what it asks for, if the whole pool could hold it.
//
// The pages of one share are all of the same size, those of different shares are not: a page is taken from the first
// free extent that can hold it, and joins its free neighbours when it comes back. If the free extents are too small,
// one waits as if all memory were taken. While somebody waits nobody keeps pages that it does not use, not even the one
// that waits, so the free extents join in the end.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace salient {

// Pages begin at multiples of so many bytes, and consist of them. A page's number is its place in the pool: the page
// begins at base + number * kPageUnit, whatever its size.
inline constexpr size_t kPageUnit = 8192;

// The most units of a pool, 256 GiB: kernels count positions, 64 for each unit, in 32 bits.
inline constexpr int32_t kMostPageUnits = INT32_MAX / 64;

class PageShare;

// Thread safety: any thread may call it.
class PagePool {
 public:
  // Of so many units from `base`, which belong to the caller and are not touched here.
  PagePool(std::byte* base, int32_t units);
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::byte* base() const { return base_; }
  int32_t units() const { return units_; }
  int32_t taken() const;  // units that shares hold, used or not; counts the extents that are free, so for tests

 private:
  friend class PageShare;

  bool TakeInLine(PageShare& share, int32_t count);
  bool TakeOutOfLine(PageShare& share, int32_t count);
  void StopWaiting(PageShare& share);
  void GiveBack(const std::vector<int32_t>& pages, int32_t page_units);
  bool somebody_waits() const;

  // With mutex_ held.
  bool Take(PageShare& share, int32_t count);
  void Free(int32_t first, int32_t units);
  void LeaveLine(PageShare& share);
  void TellFirst();

  std::byte* const base_;
  const int32_t units_;
  mutable std::mutex mutex_;
  std::map<int32_t, int32_t> free_;  // extents: the units from each first one; no two touch
  std::list<PageShare*> shares_;
  std::deque<PageShare*> line_;
};

// The pages that one store has of a pool. Those that are taken hold somebody's keys; the others are kept for the next.
//
// Not thread safe; the step loop owns it.
class PageShare {
 public:
  // `look` is called when somebody waits for pages, and when there may be pages for this share, with a lock held: it
  // must not block, nor call the share or the pool. The pool must outlive the share.
  PageShare(PagePool& pool, int32_t page_units, std::function<void()> look);
  ~PageShare();  // gives back all pages
  PageShare(const PageShare&) = delete;
  PageShare& operator=(const PageShare&) = delete;

  // The pages that the whole pool holds.
  int32_t most() const { return pool_.units_ / page_units_; }
  int32_t held() const { return static_cast<int32_t>(free_.size() + taken_.size()); }
  int32_t taken() const { return static_cast<int32_t>(taken_.size()); }

  // Between these two, Cover is asked for all new work that there is. If it is not in vain, the share waits no longer.
  void BeginAsking() { in_vain_ = false; }
  void EndAsking();
  void StopWaiting();
  // Holds so many pages in all, for new work. False: there are too few, and it waits in line.
  bool Cover(int32_t pages);
  // The same for work that has begun. False: there are too few.
  bool Grow(int32_t pages);
  // Whether it waits for pages that others have.
  bool waiting() const { return waiting_; }
  // Whether somebody waits for what is not used here: then Keep.
  bool wanted() const { return pool_.somebody_waits(); }
  // Gives back all but so many pages; those that are taken stay. The device must be done with the others.
  void Keep(int32_t pages);

  // A page that is held and free, otherwise one more of the pool's, which must have one: who has reserved its pages
  // holds them.
  int32_t Take();
  // Precondition: every page is taken. They are held until Keep.
  void Return(const std::vector<int32_t>& pages);

 private:
  friend class PagePool;

  PagePool& pool_;
  const int32_t page_units_;
  const std::function<void()> look_;
  std::deque<int32_t> free_;  // the last is taken next: those used last before those never used
  std::set<int32_t> taken_;
  bool in_vain_ = false, waiting_ = false;
};

}  // namespace salient

#include "engine/attention/cpu/tile_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/attention/cpu/attend_rows.h"

namespace salient {
namespace {

// The key list of the call's i-th query; null if the query reads all keys that it may see.
const KeyList* ListAt(const AttendArgs& args, int32_t i) {
  if (args.lists == nullptr) return nullptr;
  const KeyList& list = args.lists[args.rows[i]];
  return list.count == kEveryKey ? nullptr : &list;
}

bool Reads(const uint64_t* masks, int queries) {
  return std::accumulate(masks, masks + queries, uint64_t{0}, std::bit_or<>()) != 0;
}

// Removes the pages that no query of the group reads, and counts the others for each tile.
void DropUnread(GroupPlan& plan, int32_t pages) {
  plan.pages = 0;
  std::fill_n(plan.tile_pages, kGroupTiles, 0);
  for (int32_t page = 0; page < pages; ++page) {
    const uint64_t* masks = plan.masks + static_cast<size_t>(page) * kGroupQueries;
    if (!Reads(masks, kGroupQueries)) continue;
    if (page != plan.pages) {
      std::copy_n(masks, kGroupQueries, plan.masks + static_cast<size_t>(plan.pages) * kGroupQueries);
    }
    plan.places[plan.pages++] = page;
    for (int tile = 0; tile < kGroupTiles; ++tile) {
      plan.tile_pages[tile] += Reads(masks + tile * kTileQueries, kTileQueries) ? 1 : 0;
    }
  }
}

}  // namespace

void TilePlan::Begin(const AttendArgs& args, const RowRange& rows) {
  args_ = &args;
  length_ = 0;
  for (int32_t i = rows.first; i < rows.last; ++i) length_ = std::max(length_, ViewAt(args, i).length);
  pages_ = KvStore::PagesFor(length_);
  groups_.clear();
  for (int32_t first = rows.first; first < rows.last; first += kGroupQueries) {
    groups_.push_back({.rows = {first, std::min(first + kGroupQueries, rows.last)}});
  }
  const size_t room = (groups_.size() + 1) * pages_;
  if (room_ < room) {
    room_ = room;
    places_ = std::make_unique_for_overwrite<int32_t[]>(room);
    masks_ = std::make_unique_for_overwrite<uint64_t[]>(room * kGroupQueries);
  }
  std::iota(places_.get(), places_.get() + pages_, 0);
  for (int32_t page = 0; page < pages_; ++page) {
    const int32_t keys = std::min(kPagePositions, length_ - page * kPagePositions);
    std::fill_n(masks_.get() + static_cast<size_t>(page) * kGroupQueries, kGroupQueries, ~uint64_t{0} >> (64 - keys));
  }
}

void TilePlan::PlanGroup(int32_t group) {
  GroupPlan& plan = groups_[group];
  bool all = plan.rows.size() == kGroupQueries;
  for (int32_t i = plan.rows.first; all && i < plan.rows.last; ++i) all = ReadsAll(i);
  if (all) {
    plan.places = places_.get();
    plan.masks = masks_.get();
    plan.pages = pages_;
    std::fill_n(plan.tile_pages, kGroupTiles, pages_);
    return;
  }
  const size_t at = static_cast<size_t>(group + 1) * pages_;
  plan.places = places_.get() + at;
  plan.masks = masks_.get() + at * kGroupQueries;
  std::fill_n(plan.masks, static_cast<size_t>(pages_) * kGroupQueries, uint64_t{0});
  for (int32_t i = plan.rows.first; i < plan.rows.last; ++i) Mark(i, plan.masks + (i - plan.rows.first));
  DropUnread(plan, pages_);
}

bool TilePlan::ReadsAll(int32_t i) const { return ListAt(*args_, i) == nullptr && ViewAt(*args_, i).length == length_; }

// Sets the bits of the keys that a query reads. `masks`: the query's column of the group's masks.
void TilePlan::Mark(int32_t i, uint64_t* masks) const {
  const KeyList* list = ListAt(*args_, i);
  if (list != nullptr) {
    for (int32_t j = 0; j < list->count; ++j) {
      const int32_t position = list->positions[j];
      masks[static_cast<size_t>(position / kPagePositions) * kGroupQueries] |= uint64_t{1} << position % kPagePositions;
    }
    return;
  }
  const int32_t length = ViewAt(*args_, i).length;
  for (int32_t first = 0; first < length; first += kPagePositions, masks += kGroupQueries) {
    *masks = ~uint64_t{0} >> (64 - std::min(kPagePositions, length - first));
  }
}

double TilePlan::Density(const AttendArgs& args, int32_t group) const {
  const GroupPlan& plan = groups_[group];
  int64_t read = 0, worked = 0;
  for (int32_t i = plan.rows.first; i < plan.rows.last; ++i) {
    read += KeysRead(args, i);
    worked += int64_t{plan.tile_pages[(i - plan.rows.first) / kTileQueries]} * kPagePositions;
  }
  if (worked == 0) return 1;
  const double in_use = static_cast<double>(length_) / (int64_t{pages_} * kPagePositions);  // of positions
  return static_cast<double>(read) / (static_cast<double>(worked) * in_use);
}

}  // namespace salient

// What the groups of a document's queries read, in the form that tiles need (tiles.h): pages, and bit masks of their
// keys. The same for all heads.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/attention/attend.h"
#include "engine/attention/cpu/tiles.h"

namespace salient {

// Consecutive rows first .. last - 1 of a call that look at the same document.
struct RowRange {
  int32_t first = 0, last = 0;
  int32_t size() const { return last - first; }
};

// The keys of the i-th row of the call.
inline const KeyView& ViewAt(const AttendArgs& args, int32_t i) { return args.views[args.rows[i]]; }

struct GroupPlan {
  RowRange rows;
  int32_t pages = 0;                     // that any of the group's queries reads
  int32_t* places = nullptr;             // [pages] which of the document's, ascending
  uint64_t* masks = nullptr;             // [pages][kGroupQueries] keys read, by query
  int32_t tile_pages[kGroupTiles] = {};  // how many of them each tile of the group works on
};

class TilePlan {
 public:
  // Begins a plan for the queries of a document; groups are cut from the first on. The last plan is gone.
  void Begin(const AttendArgs& args, const RowRange& rows);
  // Threads may plan different groups at a time.
  void PlanGroup(int32_t group);

  int32_t length() const { return length_; }  // of the longest view
  int32_t pages() const { return pages_; }
  int32_t groups() const { return static_cast<int32_t>(groups_.size()); }
  const GroupPlan& operator[](int32_t group) const { return groups_[group]; }

  // The keys that a group's queries read, as a share of those that their tiles work on; 1 if there are none.
  double Density(const AttendArgs& args, int32_t group) const;

 private:
  bool ReadsAll(int32_t i) const;
  void Mark(int32_t i, uint64_t* masks) const;

  const AttendArgs* args_ = nullptr;
  int32_t length_ = 0, pages_ = 0;
  std::vector<GroupPlan> groups_;
  // Room for one plan that all groups share whose queries read all, and one for each group. Not cleared before it is
  // used: dense documents use none of it but the first.
  size_t room_ = 0;
  std::unique_ptr<int32_t[]> places_;
  std::unique_ptr<uint64_t[]> masks_;
};

}  // namespace salient

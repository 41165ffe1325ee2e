// Attention of a document's queries by tiles: masks, packing and division among threads around tiles.h's kernels.

#pragma once

#include <cstdint>
#include <span>

#include "engine/attention/attend.h"

namespace salient {

// Consecutive rows first .. last - 1 of a call that look at the same document.
struct RowRange {
  int32_t first = 0, last = 0;
  int32_t size() const { return last - first; }
};

// Rows from `first` on that share a page table and have no candidates of their own; one row at least.
RowRange DocumentRows(const AttendArgs& args, int32_t first);

// Whether the kernels take these rows of a document: enough of them, of a shape that there are tiles for.
bool TilesTake(const AttendArgs& args, const RowRange& document);

// Whether tiles are the better way for a group of kTileQueries rows. Follows from what the group's own queries read.
bool WorthTiles(const AttendArgs& args, const RowRange& group);

// Keys stay packed from call to call, as long as callers say that they are the same: to be called before the calls'
// documents are looked at.
void ForgetPackedKeys(const AttendArgs& args);

// Attends for the groups of the document that begin at `firsts`, and counts their keys.
void AttendTiles(const AttendArgs& args, const RowRange& document, std::span<const int32_t> firsts, ThreadPool& pool);

}  // namespace salient

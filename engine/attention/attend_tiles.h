// Attention of a document's queries by tiles: masks, packing and division among threads around tiles.h's kernels.

#pragma once

#include <cstdint>

#include "engine/attention/attend.h"

namespace salient {

// Consecutive rows first .. last - 1 of a call that look at the same document.
struct RowRange {
  int32_t first = 0, last = 0;
  int32_t size() const { return last - first; }
};

// Rows from `first` on that share a page table and have no candidates of their own; one row at least.
RowRange DocumentRows(const AttendArgs& args, int32_t first);

// Whether tiles are the better way for these rows of a document. Follows from what the document's own queries read.
bool WorthTiles(const AttendArgs& args, const RowRange& rows);

// Attends for these rows and counts their keys.
void AttendTiles(const AttendArgs& args, const RowRange& rows, ThreadPool& pool);

}  // namespace salient

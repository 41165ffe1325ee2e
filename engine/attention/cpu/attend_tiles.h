// Attention of a document's queries by tiles: packing and division among threads around tiles.h's kernels.

#pragma once

#include <cstdint>
#include <vector>

#include "engine/attention/attend.h"
#include "engine/attention/cpu/tile_plan.h"

namespace salient {

class ThreadPool;

// Rows from `first` on that share a page table and have no candidates of their own; one row at least.
RowRange DocumentRows(const AttendArgs& args, int32_t first);

// Keys stay packed from call to call, as long as callers say that they are the same: to be called before the calls'
// documents are looked at.
void ForgetPackedKeys(const AttendArgs& args);

// The crossover: groups whose queries read less of the pages that they would work on than this fetch their own keys
// faster. A constant of the instruction set.
double LeastTileDensity(const AttendArgs& args);

// Attends for those groups of the document's queries that are as dense as that, and counts their keys; appends the
// other queries to `left`. Which way a group goes follows from what its own queries read.
void AttendTiles(const AttendArgs& args, const RowRange& document, double least_density, ThreadPool& pool,
                 std::vector<int32_t>& left);

}  // namespace salient

// Attention query by query, each fetching its own rows of K and V: for decoding steps, and for queries that read
// little.

#pragma once

#include <cstdint>
#include <span>

#include "engine/attention/attend.h"

namespace salient {

class ThreadPool;

// How many keys the call's i-th query reads.
int32_t KeysRead(const AttendArgs& args, int32_t i);

// Attends for the call's queries that `rows` names, and counts their keys.
void AttendRows(const AttendArgs& args, std::span<const int32_t> rows, ThreadPool& pool);

}  // namespace salient

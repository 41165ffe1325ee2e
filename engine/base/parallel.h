// Loops over rows that use several threads only if there is enough work.

#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/thread_pool.h"

namespace salient {

// The least work for which another thread is used, in floating-point operations or bytes read and written. Starting
// work on another thread costs a few microseconds; this much work takes longer.
inline constexpr int64_t kWorthAThread = 64 << 10;

// Calls body(begin, end) on consecutive ranges of [0, rows). `work` is the work of one row, in the unit above. The
// ranges depend on the number of rows and threads, so the result for a row must not depend on its range.
template <typename Body>
void ParallelRanges(ThreadPool& pool, int64_t rows, int64_t work, const Body& body) {
  if (rows <= 0) return;
  const int64_t most = std::max<int64_t>(1, rows * std::max<int64_t>(work, 1) / kWorthAThread);
  // Several ranges for each thread balance the load if a thread is interrupted.
  const int64_t ranges = std::min({rows, most, static_cast<int64_t>(pool.threads()) * 4});
  if (ranges == 1 || pool.threads() == 1) return body(int64_t{0}, rows);
  pool.ParallelFor(ranges, [&](int64_t i, int) { body(rows * i / ranges, rows * (i + 1) / ranges); });
}

}  // namespace salient

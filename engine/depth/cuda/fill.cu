// Lazy filling: one block finds what is missing, another kernel copies the states.
//
// The first kernel settles for every row of the step whether its chunk is filled for it (one row a chunk), counts
// what the chunk lacks, and gives each its places in the order of the rows, as the plain CollectFills does.

#include "engine/core/cuda/language.h"
#include "engine/core/cuda/pages.h"
#include "engine/depth/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 256;

// What the block knows of a row of the step.
struct RowState {
  FillLedger* ledger;
  int32_t missing;  // then: missing of the rows before it; -1 where the chunk is not filled for this row
  int32_t active;
};

__device__ bool Contains(const Rows& rows, int32_t row) {
  if (rows.index == nullptr) return row < RowCount(rows);
  int32_t low = 0, high = RowCount(rows);
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (rows.index[middle] < row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < RowCount(rows) && rows.index[low] == row;
}

// Whether row i is the one that its chunk is filled for: its first active row, else its first.
__device__ bool Leads(const RowState* rows, int32_t size, int32_t i) {
  for (int32_t j = 0; j < size; ++j) {
    if (rows[j].ledger != rows[i].ledger) continue;
    if (rows[j].active && (!rows[i].active || j < i)) return false;
    if (!rows[j].active && !rows[i].active && j < i) return false;
  }
  return true;
}

__device__ int32_t End(const CollectFillsArgs& args, int32_t row, const FillLedger& ledger) {
  return args.steps[row] * ledger.beam;
}

// -1 where the chunk is not filled for this row.
__device__ int32_t CountMissing(const CollectFillsArgs& args, const RowState* rows, int32_t size, int32_t i,
                                int32_t row) {
  const FillLedger& ledger = *rows[i].ledger;
  const int32_t from = ledger.filled_to[args.layer - 1], end = End(args, row, ledger);
  if (!rows[i].active && (args.layer > ledger.deepest || end - from < args.patience * ledger.beam)) return -1;
  if (!Leads(rows, size, i)) return -1;
  int32_t missing = 0;
  for (int32_t position = from; position < end; ++position) missing += ledger.exit_of[position] < args.layer;
  return missing;
}

// Places `first`, `first` + 1, ... for what the row's chunk lacks, as far as there is room.
__device__ void WriteFill(const CollectFillsArgs& args, FillLedger& ledger, int32_t row, int32_t first) {
  const int32_t end = End(args, row, ledger);
  int32_t place = first, position = ledger.filled_to[args.layer - 1];
  for (; position < end && place < args.capacity; ++position) {
    if (ledger.exit_of[position] >= args.layer) continue;
    const int32_t fill = args.first_row + place++;
    args.fill_views[fill] = args.views[row];
    args.fill_positions[fill] = position;
    args.fill_steps[fill] = position / ledger.beam;
  }
  ledger.filled_to[args.layer - 1] = position;
  args.fills[row] += max(0, place - first);
}

// Replaces each row's number by the sum of those before it; returns the sum of all, to every thread.
__device__ int32_t SumBefore(RowState* rows, int32_t size) {
  __shared__ int32_t total;
  if (threadIdx.x == 0) {
    int32_t sum = 0;
    for (int32_t i = 0; i < size; ++i) {
      const int32_t missing = rows[i].missing;
      if (missing < 0) continue;
      rows[i].missing = sum;
      sum += missing;
    }
    total = sum;
  }
  __syncthreads();
  return total;
}

__global__ void __launch_bounds__(kThreads) CollectFillsKernel(CollectFillsArgs args) {
  WaitForPrevious();
  auto* rows = reinterpret_cast<RowState*>(DynamicShared());
  const Rows all = args.patience > 0 ? args.all : args.active;
  const int32_t size = RowCount(all);
  const auto thread = static_cast<int32_t>(threadIdx.x);
  for (int32_t i = thread; i < size; i += kThreads) {
    const int32_t row = RowAt(all, i);
    rows[i].ledger = args.ledgers[row];
    rows[i].active = args.patience == 0 || Contains(args.active, row);
  }
  __syncthreads();
  for (int32_t i = thread; i < size; i += kThreads) rows[i].missing = CountMissing(args, rows, size, i, RowAt(all, i));
  __syncthreads();
  const int32_t found = min(SumBefore(rows, size), args.capacity);
  for (int32_t i = thread; i < size; i += kThreads) {
    if (rows[i].missing >= 0) WriteFill(args, *rows[i].ledger, RowAt(all, i), rows[i].missing);
  }
  if (thread == 0) *args.count = found;
  if (args.extended == nullptr) return;
  const int32_t active = RowCount(args.active);
  for (int32_t i = thread; i < active; i += kThreads) args.extended[i] = RowAt(args.active, i);
  for (int32_t i = thread; i < found; i += kThreads) args.extended[active + i] = args.first_row + i;
  if (thread == 0) *args.extended_count = active + found;
}

// A block a fill.
__global__ void __launch_bounds__(kThreads) CopyExitStatesKernel(CollectFillsArgs args, PagesView pages) {
  WaitForPrevious();
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= *args.count) return;
  const int32_t fill = args.first_row + i, width = args.store.layout.width;
  const float* from = pages.ExitState(args.fill_views[fill].pages, args.fill_positions[fill]);
  float* to = args.states + static_cast<size_t>(fill) * width;
  for (auto c = static_cast<int32_t>(threadIdx.x); c < width; c += kThreads) to[c] = from[c];
}

__global__ void __launch_bounds__(kThreads) KeepExitStatesKernel(KeepExitStatesArgs args, PagesView pages) {
  WaitForPrevious();
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i), position = args.positions[row], exit_at = args.exit_at[row];
  if (threadIdx.x == 0) args.ledgers[row]->exit_of[position] = static_cast<uint8_t>(exit_at);
  if (exit_at >= args.layers) return;
  const int32_t width = args.store.layout.width;
  const float* from = args.states + static_cast<size_t>(row) * width;
  float* to = pages.ExitState(args.views[row].pages, position);
  for (auto c = static_cast<int32_t>(threadIdx.x); c < width; c += kThreads) to[c] = from[c];
}

}  // namespace

void CollectFills(Device& device, const CollectFillsArgs& args) {
  const int32_t rows = args.patience > 0 ? args.all.capacity : args.active.capacity;
  Launch(device, {.threads = kThreads, .shared_bytes = rows * sizeof(RowState)}, CollectFillsKernel, args);
  Launch(device, {.grid_x = static_cast<unsigned>(args.capacity), .threads = kThreads}, CopyExitStatesKernel, args,
         PagesView(args.store));
}

void KeepExitStates(Device& device, const KeepExitStatesArgs& args) {
  Launch(device, {.grid_x = static_cast<unsigned>(args.rows.capacity), .threads = kThreads}, KeepExitStatesKernel, args,
         PagesView(args.store));
}

}  // namespace salient::cuda

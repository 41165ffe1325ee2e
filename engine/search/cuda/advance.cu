// From the chosen tokens to the next step, and from group to group of steps, on the device: one block, a thread a row.

#include "engine/core/cuda/list_rows.h"
#include "engine/search/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = kListThreads;

__device__ void Record(const AdvanceArgs& args, const Rows& rows, int32_t step) {
  const int32_t size = RowCount(rows), thread = static_cast<int32_t>(threadIdx.x);
  for (int32_t at = thread; at < size * args.width; at += kThreads) {
    const int32_t row = RowAt(rows, at / args.width), c = at % args.width;
    args.records.CandidatesOf(step, row, args.width)[c] = args.candidates[static_cast<size_t>(row) * args.width + c];
  }
  for (int32_t i = thread; i < size; i += kThreads) RecordRow(args, RowAt(rows, i), step);
}

// Where there are beams AdvanceBeams has been there before, and has left theirs as they go on.
__global__ void __launch_bounds__(kThreads) AdvanceKernel(AdvanceArgs args) {
  WaitForPrevious();
  const Rows rows{args.rows, args.count, args.scheduled.capacity};
  const int32_t step = *args.record_step;
  Record(args, rows, step);
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < RowCount(rows); i += kThreads) {
    const int32_t row = RowAt(rows, i);
    if (args.scripts[row]->beam == nullptr) args.goes_on[row] = AdvanceGreedy(args, row);
  }
  __syncthreads();
  ListRows(args.scheduled, args.rows, args.count, [&](int32_t row) { return args.goes_on[row] != 0; });
  if (threadIdx.x == 0) *args.record_step = step + 1;
}

__device__ void CopyWords(std::byte* to, const std::byte* from, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += 4) {
    *reinterpret_cast<uint32_t*>(to + at) = *reinterpret_cast<const uint32_t*>(from + at);
  }
}

__global__ void __launch_bounds__(kThreads) MergeNewRowsKernel(MergeNewRowsArgs args) {
  WaitForPrevious();
  const int32_t size = RowCount(args.rows), thread = static_cast<int32_t>(threadIdx.x);
  for (int32_t at = thread; at < size * args.field_count; at += kThreads) {
    const int32_t row = RowAt(args.rows, at / args.field_count);
    const RowField& field = args.fields[at % args.field_count];
    if (!field.always && args.begins[row] == Beginning::kNone) continue;
    const size_t state = field.at + static_cast<size_t>(row) * field.bytes;
    CopyWords(args.kept + state, args.given + state, field.bytes);
  }
  for (int32_t i = thread; i < size; i += kThreads) {
    const int32_t row = RowAt(args.rows, i);
    if (args.begins[row] == Beginning::kNone) continue;
    args.self_tally[row] = AttentionTally{};
    args.cross_tally[row] = AttentionTally{};
    args.fills[row] = 0;
    args.aligned[row] = -1;
    args.goes_on[row] = args.begins[row] == Beginning::kNow;
  }
  __syncthreads();
  ListRows(args.rows, args.taking_part, args.count, [&](int32_t row) { return args.goes_on[row] != 0; });
  if (thread == 0) *args.record_step = args.first_record;
}

}  // namespace

void Advance(Device& device, const AdvanceArgs& args) {
  if (args.width > 1) AdvanceBeams(device, args);
  Launch(device, {.threads = kThreads}, AdvanceKernel, args);
}
void MergeNewRows(Device& device, const MergeNewRowsArgs& args) {
  Launch(device, {.threads = kThreads}, MergeNewRowsKernel, args);
}

}  // namespace salient::cuda

// From the chosen token to the next step, on the device: one block, a thread a row.

#include "engine/backend/cuda/language.h"
#include "engine/search/cuda/kernels.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

__device__ void Record(const AdvanceArgs& args, int32_t row, int32_t step) {
  StepRecord& record = args.records[static_cast<size_t>(step) * args.record_rows + row];
  record.candidate = args.candidates[row];
  record.exit_at = args.exit_at[row];
  record.fills = args.fills[row];
  record.self = args.self_tally[row];
  record.cross = args.cross_tally[row];
  args.fills[row] = 0;
  args.self_tally[row] = AttentionTally{};
  args.cross_tally[row] = AttentionTally{};
}

// Sequence::ConstraintOf.
__device__ TokenConstraint Constraint(const AdvanceScript& script, const SpecialTokens& special, int32_t tokens,
                                      int32_t segment, int32_t offset) {
  TokenConstraint constraint;
  const bool last = segment + 1 == script.piece_count;
  if (tokens < script.prefix_count) {
    constraint.forced = script.prefix[tokens];
  } else if (offset >= script.pieces[segment].limit) {
    constraint.forced = last ? special.end : special.separator;
  } else {
    constraint.allow_separator = !last;
    constraint.allow_end = last;
  }
  return constraint;
}

// Makes the row's next step; false where its translation has ended.
__device__ bool Continue(const AdvanceArgs& args, int32_t row) {
  const int32_t token = args.candidates[row].token;
  const AdvanceScript& script = *args.scripts[row];
  const bool closes = token == args.special.separator;
  const int32_t segment = args.segment[row] + (closes ? 1 : 0);
  if (token < 0 || token == args.special.end || segment >= script.piece_count) return false;
  const int32_t step = args.step[row] + 1, offset = closes ? 0 : args.offset[row] + 1;
  args.token[row] = token;
  args.step[row] = args.position[row] = step;
  args.offset[row] = offset;
  args.segment[row] = segment;
  args.self_view[row].length = step + 1;
  args.self_view[row].centre = step;
  const AdvancePiece& piece = script.pieces[segment];
  args.cross_view[row].centre = piece.source_start + min(offset, piece.source_length - 1);
  args.exit_rule[row].kind = args.asked[row].kind;
  args.exit_rule[row].at = args.asked[row].at;
  args.constraint[row] = Constraint(script, args.special, step, segment, offset);
  return true;
}

__global__ void __launch_bounds__(kThreads) AdvanceKernel(AdvanceArgs args) {
  WaitForPrevious();
  __shared__ int32_t kept_of[kWarps];
  const int32_t size = min(*args.count, args.capacity), step = *args.record_step;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  int32_t total = 0;
  for (int32_t first = 0; first < size; first += kThreads) {
    const int32_t i = first + static_cast<int32_t>(threadIdx.x);
    const int32_t row = i < size ? args.rows[i] : -1;
    bool goes_on = false;
    if (row >= 0) {
      Record(args, row, step);
      goes_on = Continue(args, row);
    }
    const unsigned ballot = __ballot_sync(kAllLanes, goes_on);
    if (lane == 0) kept_of[warp] = __popc(ballot);
    __syncthreads();  // and every row of this round has been read
    int32_t before = total;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) before += kept_of[w];
      total += kept_of[w];
    }
    if (goes_on) args.rows[before + __popc(ballot & ((1u << lane) - 1))] = row;
    __syncthreads();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *args.count = total;
    *args.record_step = step + 1;
  }
}

}  // namespace

void Advance(Device& device, const AdvanceArgs& args) { Launch(device, {.threads = kThreads}, AdvanceKernel, args); }

}  // namespace salient::cuda

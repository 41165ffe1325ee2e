// From the chosen token to the next step, and from group to group of steps, on the device: one block, a thread a row.

#include "engine/backend/cuda/list_rows.h"
#include "engine/search/cuda/kernels.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = kListThreads;

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
  const int32_t step = *args.record_step;
  ListRows({args.rows, args.count, args.capacity}, args.rows, args.count, [&](int32_t row) {
    Record(args, row, step);
    const bool goes_on = Continue(args, row);
    args.goes_on[row] = goes_on;
    return goes_on;
  });
  __syncthreads();
  if (threadIdx.x == 0) *args.record_step = step + 1;
}

__device__ void CopyWords(std::byte* to, const std::byte* from, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += 4) {
    *reinterpret_cast<uint32_t*>(to + at) = *reinterpret_cast<const uint32_t*>(from + at);
  }
}

__global__ void __launch_bounds__(kThreads) EnlistKernel(EnlistArgs args) {
  WaitForPrevious();
  const int32_t size = RowCount(args.rows), thread = static_cast<int32_t>(threadIdx.x);
  for (int32_t at = thread; at < size * args.field_count; at += kThreads) {
    const int32_t row = RowAt(args.rows, at / args.field_count);
    const RowField& field = args.fields[at % args.field_count];
    const size_t place = field.at + static_cast<size_t>(row) * field.bytes;
    if (field.always || args.begins[row] != 0) CopyWords(args.kept + place, args.given + place, field.bytes);
  }
  for (int32_t i = thread; i < size; i += kThreads) {
    const int32_t row = RowAt(args.rows, i);
    if (args.begins[row] == 0) continue;
    args.self_tally[row] = AttentionTally{};
    args.cross_tally[row] = AttentionTally{};
    args.fills[row] = 0;
    args.goes_on[row] = 1;
  }
  __syncthreads();
  ListRows(args.rows, args.taking_part, args.count, [&](int32_t row) { return args.goes_on[row] != 0; });
  if (thread == 0) *args.record_step = args.first_record;
}

}  // namespace

void Advance(Device& device, const AdvanceArgs& args) { Launch(device, {.threads = kThreads}, AdvanceKernel, args); }
void Enlist(Device& device, const EnlistArgs& args) { Launch(device, {.threads = kThreads}, EnlistKernel, args); }

}  // namespace salient::cuda

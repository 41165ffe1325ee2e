// From a step's best tokens to the rows of the next step, as operations: so a device makes steps by itself, and the
// host reads their records every few steps. The rules are those of rules.h, which the host applies, too.
//
// docs/decoding.md shows how rows move between the host, the given and the kept block, and the records.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/keys.h"
#include "engine/core/rows.h"
#include "engine/depth/exit.h"
#include "engine/search/candidates.h"
#include "engine/search/rules.h"

namespace salient {

// What one step did for a row, beside its candidates.
struct StepRecord {
  int32_t exit_at = 0, fills = 0;
  AttentionTally self, cross;
  int32_t aligned = -1;  // as Align has left it
};

// What steps did: what the host learns of them later. Steps come in groups, and all of a group record the same number
// of candidates a row.
struct StepRecords {
  StepRecord* rows = nullptr;       // [steps, row_count] by row number
  Candidate* candidates = nullptr;  // a group after the other, of each [group_steps, row_count, width]
  int32_t group_steps = 1, row_count = 0;
  int32_t most_candidates = 1;  // a row, that there is room for

  constexpr StepRecord& Of(int32_t step, int32_t row) const {
    return rows[static_cast<int64_t>(step) * row_count + row];
  }
  constexpr Candidate* CandidatesOf(int32_t step, int32_t row, int32_t width) const {
    const int64_t group_rows = static_cast<int64_t>(group_steps) * row_count;
    return candidates + step / group_steps * group_rows * most_candidates +
           (static_cast<int64_t>(step % group_steps) * row_count + row) * width;
  }
};

// Where a row's part of one array lies in a block of arrays.
struct RowField {
  uint32_t at = 0;      // row 0's, from the beginning of the block
  uint32_t bytes = 0;   // each row's; a multiple of 4
  bool always = false;  // the host's say for every group of steps, not only for rows that begin
};

// From when on a row is as the host has written it.
enum class Beginning : uint8_t {
  kNone,   // it is not: it stays where the steps before have brought it
  kNow,    // now, and takes part in the first step
  kLater,  // now, but it takes part when its chunk has so many hypotheses
};

// Begins a group of steps. Rows that begin are as the host has written them; the others stay where the steps before
// have brought them, and those whose translation has ended are left out: so that the host need not know of them yet.
struct MergeNewRowsArgs {
  Rows rows;                          // that the host wants in the group, ascending, count in device memory
  const Beginning* begins = nullptr;  // [.] by row number
  const RowField* fields = nullptr;
  int32_t field_count = 0;
  const std::byte* given = nullptr;  // the block of `fields` as the host has written it
  std::byte* kept = nullptr;         // and as steps read and write it
  uint8_t* goes_on = nullptr;  // [.] by row number: whether it takes part in the next step; written by Advance, too
  // Zeroed for rows that begin, `aligned` to -1.
  AttentionTally *self_tally = nullptr, *cross_tally = nullptr;
  int32_t *fills = nullptr, *aligned = nullptr;

  int32_t* taking_part = nullptr;  // [rows.capacity] out: the rows of the group's first step
  int32_t* count = nullptr;        // [1] out
  int32_t first_record = 0;        // which step's records the group's first step writes
  int32_t* record_step = nullptr;  // [1] out: the same
};

// Ends a step and makes the next one: records what it did, takes the best token of each greedy translation, and of each
// beam the next hypotheses (sequence.h), lists the rows that take part in the next step, and writes where those stand.
// A beam's hypotheses are in its first rows again; what they have read is listed anew, keys stay where they are.
struct AdvanceArgs {
  Rows scheduled;                          // of the group of steps, ascending, all rows of each chunk
  int32_t* rows = nullptr;                 // [scheduled.capacity] in: the step's rows, ascending; out: the next one's
  int32_t* count = nullptr;                // [1] in and out
  int32_t width = 1;                       // candidates a row: as many as the widest beam wants
  const Script* const* scripts = nullptr;  // [.] by row number
  SpecialTokens special;
  const Candidate* candidates = nullptr;  // [., width] by row number, best first
  const int32_t* exit_at = nullptr;       // [.] by row number
  const ExitRule* asked = nullptr;        // [.] by row number: the rule before this token's exit was decided
  uint8_t* goes_on = nullptr;             // [.] by row number, in: 1 for the step's rows; out: for the next one's

  // [.] by row number, of the step that was; out: of the next one.
  int32_t *token = nullptr, *step = nullptr, *offset = nullptr, *segment = nullptr, *position = nullptr;
  KeyView *self_view = nullptr, *cross_view = nullptr;
  ExitRule* exit_rule = nullptr;
  TokenConstraint* constraint = nullptr;
  MarkerState* markers = nullptr;
  // Moved into the record, and zeroed, `aligned` to -1.
  AttentionTally *self_tally = nullptr, *cross_tally = nullptr;
  int32_t *fills = nullptr, *aligned = nullptr;

  StepRecords records;
  int32_t* record_step = nullptr;  // [1] which step's records to write; out: one more

  constexpr SearchState StateOf(int32_t row) const {
    return {step[row], segment[row], step[row] - offset[row], markers[row]};
  }
};

void MergeNewRows(const MergeNewRowsArgs& args);
void Advance(const AdvanceArgs& args);

// Records all of what a step did for a row but its candidates, and begins to count anew.
constexpr void RecordRow(const AdvanceArgs& args, int32_t row, int32_t step) {
  args.records.Of(step, row) = {args.exit_at[row], args.fills[row], args.self_tally[row], args.cross_tally[row],
                                args.aligned[row]};
  args.aligned[row] = -1;
  args.fills[row] = 0;
  args.self_tally[row] = AttentionTally{};
  args.cross_tally[row] = AttentionTally{};
}

// Writes a row's next step, from `state` on after `token`. `history`: as in KeyView.
constexpr void WriteNext(const AdvanceArgs& args, int32_t row, const SearchState& state, int32_t token,
                         int32_t position, const int32_t* history) {
  const Script& script = *args.scripts[row];
  args.token[row] = token;
  args.step[row] = state.tokens;
  args.offset[row] = state.offset();
  args.segment[row] = state.piece;
  args.position[row] = position;
  args.self_view[row].candidates = history;
  args.self_view[row].length = state.tokens + 1;
  args.self_view[row].centre = state.tokens;
  args.cross_view[row].centre = SourceCentre(state, script);
  args.exit_rule[row].policy = args.asked[row].policy;
  args.exit_rule[row].at = args.asked[row].at;
  args.constraint[row] = ConstraintAt(state, script, args.special);
  args.markers[row] = state.markers;
}

// Makes a greedy translation's next step; false where it has ended.
constexpr bool AdvanceGreedy(const AdvanceArgs& args, int32_t row) {
  const int32_t token = args.candidates[static_cast<int64_t>(row) * args.width].token;
  const SearchState next = After(args.StateOf(row), token, *args.scripts[row], args.special);
  if (token < 0 || token == args.special.end || next.piece >= args.scripts[row]->piece_count) return false;
  WriteNext(args, row, next, token, next.tokens, nullptr);
  return true;
}

}  // namespace salient

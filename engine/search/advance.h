// What a greedy translation's next step is after the token that was chosen: Sequence's rules (engine/decode/sequence.h)
// as an operation, so that a device goes on by itself and the host reads what it did every few steps.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/attention/keys.h"
#include "engine/backend/rows.h"
#include "engine/depth/exit.h"
#include "engine/search/candidates.h"

namespace salient {

// A window's pieces and prefix, in device memory, unchanged while the window is decoded.
struct AdvancePiece {
  int32_t limit = 0;                            // target tokens after which the piece is closed
  int32_t source_start = 0, source_length = 0;  // its source tokens, with what closes them
};
struct AdvanceScript {
  const AdvancePiece* pieces = nullptr;
  const int32_t* prefix = nullptr;  // the tokens that the translation must begin with
  int32_t piece_count = 0, prefix_count = 0;
};

// What one step did for a row: what the host learns of it later.
struct StepRecord {
  Candidate candidate;
  int32_t exit_at = 0, fills = 0;
  AttentionTally self, cross;
};

// Where a row's part of one array lies in a block of arrays.
struct RowField {
  uint32_t at = 0;      // row 0's, from the beginning of the block
  uint32_t bytes = 0;   // each row's; a multiple of 4
  bool always = false;  // the host's say for every group of steps, not only for rows that begin
};

// Begins a group of steps. Rows that begin are as the host has written them; the others stay where the steps before
// have brought them, and those whose translation has ended are left out: so that the host need not know of them yet.
struct EnlistArgs {
  Rows rows;                        // that the host wants in the group, ascending, count in device memory
  const uint8_t* begins = nullptr;  // [.] by row number
  const RowField* fields = nullptr;
  int32_t field_count = 0;
  const std::byte* given = nullptr;  // the block of `fields` as the host has written it
  std::byte* kept = nullptr;         // and as steps read and write it
  uint8_t* goes_on = nullptr;        // [.] by row number: whether there is a next step; written by Advance, too
  // Zeroed for rows that begin.
  AttentionTally *self_tally = nullptr, *cross_tally = nullptr;
  int32_t* fills = nullptr;

  int32_t* taking_part = nullptr;  // [rows.capacity] out: the rows of the group's first step
  int32_t* count = nullptr;        // [1] out
  int32_t first_record = 0;        // which step's records the group's first step writes
  int32_t* record_step = nullptr;  // [1] out: the same
};

struct AdvanceArgs {
  int32_t* rows = nullptr;   // [capacity] in: the step's rows; out: those whose translation goes on, in their order
  int32_t* count = nullptr;  // [1] in and out
  int32_t capacity = 0;
  const AdvanceScript* const* scripts = nullptr;  // [.] by row number
  SpecialTokens special;
  const Candidate* candidates = nullptr;  // [.] by row number: the token chosen
  const int32_t* exit_at = nullptr;       // [.] by row number
  const ExitRule* asked = nullptr;        // [.] by row number: the rule before this token's exit was decided
  uint8_t* goes_on = nullptr;             // [.] by row number, out

  // [.] by row number, of the step that was; out: of the next one.
  int32_t *token = nullptr, *step = nullptr, *offset = nullptr, *segment = nullptr, *position = nullptr;
  KeyView *self_view = nullptr, *cross_view = nullptr;
  ExitRule* exit_rule = nullptr;
  TokenConstraint* constraint = nullptr;
  // Moved into the record, and zeroed.
  AttentionTally *self_tally = nullptr, *cross_tally = nullptr;
  int32_t* fills = nullptr;

  StepRecord* records = nullptr;  // [steps, record_rows] by row number
  int32_t record_rows = 0;
  int32_t* record_step = nullptr;  // [1] which step's records to write; out: one more
};

}  // namespace salient

// The decoder's rows. A row is a hypothesis, or a position whose skipped keys are filled.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/keys.h"
#include "engine/core/staging.h"
#include "engine/model/block.h"
#include "engine/model/config.h"

namespace salient {

// The inputs and outputs of a step for each row, by row number. The caller writes the first part, on the host's side,
// for the rows in the step; after the step it reads the second part. Rows beyond those of hypotheses are for positions
// that are filled (fill.h).
struct DecoderRows {
  // If the device makes steps by itself (Backend::can_step_ahead), the records of `recorded_steps` steps are kept.
  DecoderRows(Backend& backend, const ModelConfig& config, int32_t rows, int32_t extra, int32_t width,
              int32_t recorded_steps);

  Staging in, out, ahead;

  StagedArray<int32_t> token, step, offset, segment;  // input token; rotary position; offset and ordinal of its segment
  StagedArray<int32_t> position;                      // position of its keys: step * beam + hypothesis
  StagedArray<KeyView> self_view, cross_view;
  std::vector<StagedArray<SelectionRule>> self_rule, cross_rule;  // by group
  StagedArray<ExitRule> exit_rule;
  StagedArray<ExitRule> asked_exit_rule;  // the same, never resolved
  StagedArray<int32_t> held_at;           // layers that Draft has run of the row in this step; 0: none
  StagedArray<const Script*> script;
  StagedArray<FillLedger*> ledger;
  StagedArray<TokenConstraint> constraint;
  StagedArray<MarkerState> markers;
  StagedArray<const TokenList*> tokens;  // null: the whole vocabulary
  // The screen of the confidence policy: tokens over which the best token must be probable, too, before the row leaves.
  // Equal to `tokens` if the row has them; null: none.
  StagedArray<const TokenList*> screen;
  StagedArray<Beginning> begins;  // for StepAhead: whether the values written here are used
  // A classifier of the row's chunk over its `tokens` or `screen` only; null: none. Used only if device memory is
  // host-addressable.
  std::vector<const PackedLinear*> own_classifier;
  std::vector<uint8_t> aligns;  // whether the row's script asks for an alignment
  // Written by the decoder: the rows in the step, and the places of their key lists.
  StagedArray<int32_t> taking_part, taking_part_count, record_step;
  KeyListArena self_arena, cross_arena;

  StagedArray<int32_t> exit_at;                         // layers run, from 1
  StagedArray<AttentionTally> self_tally, cross_tally;  // added to
  StagedArray<int32_t> fills;                           // positions filled for the row, added to
  StagedArray<int32_t> aligned;                         // as Align leaves it; -1: not asked, or left before
  StagedArray<Candidate> candidates;                    // [rows, width]
  // The records of steps made ahead (StepRecords).
  StagedArray<StepRecord> records;
  StagedArray<Candidate> recorded_candidates;

  // For steps made ahead: `in` as written by the host, and the rows of it that MergeNewRows takes.
  std::vector<RowField> Fields() const;
  DeviceArray<std::byte> given;
  DeviceArray<RowField> fields;
  DeviceArray<uint8_t> goes_on;
};

}  // namespace salient

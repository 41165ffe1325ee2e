// The decoder's rows: one hypothesis each, or a position to be filled.

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

// What a step reads and writes of each row, by row number. The caller fills the first part, on the host's side, for the
// rows that take part; after the step it finds the second there. Some rows more than there are hypotheses stand for
// positions that are filled (fill.h).
struct DecoderRows {
  // Where the device makes steps by itself (Backend::goes_ahead), the records of `recorded_steps` of them are kept.
  DecoderRows(Backend& backend, const ModelConfig& config, int32_t rows, int32_t extra, int32_t width,
              int32_t recorded_steps);

  Staging in, out, ahead;

  StagedArray<int32_t> token, step, offset, segment;  // input token; rotary position; offset and ordinal of its segment
  StagedArray<int32_t> position;                      // where its keys go: step * beam + hypothesis
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
  // Tokens among which the best must be probable, too, for the confidence policy to let the row leave; of a row with
  // `tokens` the same; null: none.
  StagedArray<const TokenList*> screen;
  StagedArray<Beginning> begins;  // for StepAhead: whether what is written here holds
  // Of the row's chunk, over its `tokens` or `screen` alone; null for none. Of use where the host addresses device
  // memory.
  std::vector<const PackedLinear*> own_classifier;
  std::vector<uint8_t> aligns;  // whether the row's script asks for an alignment
  // Written by the decoder: which rows take part, and their lists' places.
  StagedArray<int32_t> taking_part, taking_part_count, record_step;
  KeyListArena self_arena, cross_arena;

  StagedArray<int32_t> exit_at;                         // layers run, from 1
  StagedArray<AttentionTally> self_tally, cross_tally;  // added to
  StagedArray<int32_t> fills;                           // positions filled for the row, added to
  StagedArray<int32_t> aligned;                         // as Align leaves it; -1: not asked, or left before
  StagedArray<Candidate> candidates;                    // [rows, width]
  // Of steps made ahead, as in StepRecords.
  StagedArray<StepRecord> records;
  StagedArray<Candidate> recorded_candidates;

  // For steps made ahead: `in` as the host has written it, and which of it MergeNewRows takes.
  std::vector<RowField> Fields() const;
  DeviceArray<std::byte> given;
  DeviceArray<RowField> fields;
  DeviceArray<uint8_t> goes_on;
};

}  // namespace salient

// One chunk that is decoded. It combines these parts:
//
//   Hypotheses      the search: live and finished hypotheses                               (hypotheses.h)
//   Drafts          self-speculative decoding: the drafts of a step, and which are accepted (drafts.h)
//   SequenceArrays  the arrays that kernels read for the chunk, and its pages of keys      (sequence_arrays.h)
//   RowMeter        the cost of its rows                                                   (row_meter.h)
//   demand.h        the most resources that it needs, known before it starts
//
// Each step a sequence writes its live hypotheses into the decoder's rows and reads their best next tokens from there.
// docs/decoding.md shows where a hypothesis lives, from here to the device and back.
//
// Segments stay aligned with the source: the translation gets exactly as many separators as the source, and the end
// token only after the last segment. A segment of n source tokens is closed and marked when it reaches max_length_ratio
// * n + 16 tokens.
//
// Not thread safe; the step loop owns it.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/kv_store.h"
#include "engine/decode/drafts.h"
#include "engine/decode/hypotheses.h"
#include "engine/decode/row_meter.h"
#include "engine/decode/sequence_arrays.h"
#include "engine/model/decoder.h"
#include "engine/model/encoder.h"
#include "engine/options/resolve.h"
#include "engine/text/chunk.h"

namespace salient {

// The vocabulary must be at least this many times as large as the screen of the confidence policy, the shortlist that
// it checks first. Rows that pass the screen are also computed over the vocabulary, so a larger screen costs as much as
// it saves.
inline constexpr int32_t kVocabularyOverScreen = 3;

class Sequence {
 public:
  // All references must outlive it. `tokens` is the chunk's shortlist, ascending; empty: the vocabulary. With
  // options.shortlist the translation uses only these tokens. Otherwise drafts are chosen from them, and they are the
  // screen of the confidence policy.
  Sequence(const Chunk& chunk, const ResolvedOptions& options, const std::vector<int32_t>& prefix,
           const ModelConfig& config, Backend& backend, KvStore& self_store, KvStore& cross_store,
           const std::vector<int32_t>& tokens = {});
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  EncoderInput ForEncoder();
  void MarkEncoded();  // call it after the encoder has encoded ForEncoder()
  bool encoded() const { return encoded_; }
  // Pages of the self store that it holds when it is prepared for `steps` steps.
  int32_t SelfPagesFor(int32_t steps) const;

  // The most decoder layers that its tokens run. With the sequence policy, known once it is encoded.
  int32_t deepest() const;

  // Sets the decoder rows of this sequence, rows_wanted() of them. Call it once the chunk is encoded.
  void AssignRows(std::vector<int32_t> rows) { assigned_rows_ = std::move(rows); }
  const std::vector<int32_t>& assigned_rows() const { return assigned_rows_; }
  bool scheduled() const { return !assigned_rows_.empty(); }

  // The shortlist, on the host's side.
  std::span<const int32_t> tokens() const { return arrays_.tokens(); }
  // Whether tokens() are only the screen of the confidence policy.
  bool screens() const { return options_.exit.policy == DepthPolicy::kConfidence && !options_.shortlist; }
  // Sets a classifier over tokens() only.
  void OwnClassifier(std::unique_ptr<PackedLinear> classifier) { classifier_ = std::move(classifier); }
  bool has_own_classifier() const { return classifier_ != nullptr; }

  // Writes the live hypotheses to rows, and appends the numbers of all rows that may be in the step.
  void Prepare(DecoderRows& rows, std::vector<int32_t>& may_take_part);
  // As Prepare, for steps that the device makes by itself; needs can_step_ahead(). At most `steps` steps are made
  // beyond those that TakeStep has received. Appends all rows that the sequence may use. The values that it writes are
  // used by the first of these steps only (DecoderRows::begins).
  void PrepareAhead(DecoderRows& rows, std::vector<int32_t>& may_take_part, int32_t steps);
  // The next draft, if there is one: writes the inputs and appends the row. TakeDraft takes the draft.
  void PrepareDraft(DecoderRows& rows, std::vector<int32_t>& drafting);
  void TakeDraft(const DecoderRows& rows);
  // After all drafts: appends the rows of the step. TakeStep takes the results, of which there are `width` candidates a
  // row: as many as the widest beam of the step wants.
  void AppendRows(DecoderRows& rows, std::vector<int32_t>& taking_part);
  void TakeStep(const DecoderRows& rows, int32_t width);

  // With trace: records the source positions that row `row` selected in this step.
  void RecordSelected(int32_t row, const KeyList& list);

  int32_t rows_wanted() const;
  int32_t candidates_wanted() const { return CandidatesWanted(options_.beam); }
  // Whether a device may make its steps by itself, that is, the host has no work between them.
  bool can_step_ahead() const { return !options_.trace && options_.draft_tokens == 0 && options_.no_repeat == 0; }
  bool wants_trace() const { return options_.trace; }

  // As in Hypotheses.
  bool done() const { return hypotheses_.done(); }
  int32_t settled_pieces() const { return hypotheses_.settled_pieces(); }
  std::vector<DecodedPiece> SettledPieces(int32_t first) const { return hypotheses_.SettledPieces(first); }
  bool failed() const { return hypotheses_.failed(); }
  std::vector<std::vector<DecodedPiece>> Results() const { return hypotheses_.Results(); }
  int32_t tokens_so_far() const { return hypotheses_.step(); }

  Meter& meter() { return meter_.meter(); }
  int64_t kv_bytes() const { return arrays_.kv_bytes(); }

 private:
  void BeginStep(int32_t steps);
  void WriteRow(DecoderRows& rows, int32_t slot, const SearchState& state, int32_t token, const int32_t* history);
  void WriteTokens(DecoderRows& rows, int32_t slot, bool listed);
  void WriteDrafts(DecoderRows& rows, std::vector<int32_t>& may_take_part);
  void WriteAfterDrafts(DecoderRows& rows);
  const int32_t* StageHistory(int32_t index);
  const SearchState& StateAfterDrafts() const;
  RowResult ResultOf(const DecoderRows& rows, int32_t slot, int32_t width) const;
  void TakeVerified(const DecoderRows& rows, int32_t width);

  const Chunk& chunk_;
  const ResolvedOptions& options_;
  const ModelConfig& config_;

  ExitRule exit_rule_;  // with the sequence policy, the encoder sets the exit
  AttentionTally encoder_tally_;
  bool encoded_ = false;
  bool ahead_ = false;  // the device makes its steps ahead of the host

  Hypotheses hypotheses_;
  Drafts drafts_;
  SequenceArrays arrays_;
  RowMeter meter_;
  std::unique_ptr<PackedLinear> classifier_;
  std::vector<int32_t> assigned_rows_;          // by slot
  std::vector<std::vector<int32_t>> selected_;  // by slot, with trace
};

}  // namespace salient

// One chunk being decoded. Puts the parts of that together, one job each:
//
//   Hypotheses      the search: which hypotheses are live, which have ended, what they say   (hypotheses.h)
//   Drafts          self-speculation: the drafts of a step, and which are accepted           (drafts.h)
//   SequenceArrays  what kernels read of the chunk, and its pages of keys                    (sequence_arrays.h)
//   RowMeter        what its rows cost                                                       (row_meter.h)
//   demand.h        what it needs at most, known before it starts
//
// Each step a sequence writes its live hypotheses into the decoder's rows and reads their best next tokens from there.
// docs/decoding.md shows where a hypothesis lives, from here to the device and back.
//
// Segments stay aligned with the source: exactly as many separators are produced as the source has, the end only
// after the last; and a segment of n source tokens that reaches max_length_ratio * n + 16 tokens is closed and marked.
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

// A vocabulary is at least so many times as large as what the confidence policy looks at first. What passes there is
// computed over the vocabulary all the same; a larger screen costs as much as it saves.
inline constexpr int32_t kVocabularyOverScreen = 3;

class Sequence {
 public:
  // `chunk`, `options` and `config` must outlive it; so must the backend and the stores. `tokens`, ascending,
  // are all that the translation may say, or without options.shortlist all that is drafted, and what the confidence
  // policy looks at first; none: the vocabulary.
  Sequence(const Chunk& chunk, const ResolvedOptions& options, const std::vector<int32_t>& prefix,
           const ModelConfig& config, Backend& backend, KvStore& self_store, KvStore& cross_store,
           const std::vector<int32_t>& tokens = {});
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  EncoderInput ForEncoder();
  void MarkEncoded();  // after the encoder has run on ForEncoder()
  bool encoded() const { return encoded_; }
  // Pages of the self store that it holds once it is prepared for so many steps.
  int32_t SelfPagesFor(int32_t steps) const;

  // Decoder layers that its tokens run at most. Of the sequence policy known once it is encoded.
  int32_t deepest() const;

  // Decoder rows this sequence may use: rows_wanted() of them, once it is encoded.
  void AssignRows(std::vector<int32_t> rows) { assigned_rows_ = std::move(rows); }
  const std::vector<int32_t>& assigned_rows() const { return assigned_rows_; }
  bool scheduled() const { return !assigned_rows_.empty(); }

  // As given. On the host's side.
  std::span<const int32_t> tokens() const { return arrays_.tokens(); }
  // Whether tokens() are only what the confidence policy looks at first.
  bool screens() const { return options_.exit.policy == DepthPolicy::kConfidence && !options_.shortlist; }
  // A classifier over tokens() alone.
  void OwnClassifier(std::unique_ptr<PackedLinear> classifier) { classifier_ = std::move(classifier); }
  bool has_own_classifier() const { return classifier_ != nullptr; }

  // Writes the live hypotheses into rows and appends the numbers of all rows that may take part in the step.
  void Prepare(DecoderRows& rows, std::vector<int32_t>& may_take_part);
  // The same for steps that the device makes by itself, where goes_ahead(): `steps` are made at most beyond those that
  // TakeStep has been told of, and the rows are all that it may come to use. What is written holds for the first such
  // steps only (DecoderRows::begins).
  void PrepareAhead(DecoderRows& rows, std::vector<int32_t>& may_take_part, int32_t steps);
  // The next draft, if there is to be one: writes what is drafted from and appends its row; then takes the draft.
  void PrepareDraft(DecoderRows& rows, std::vector<int32_t>& drafting);
  void TakeDraft(const DecoderRows& rows);
  // After all drafts: appends the rows that take part in the step. Then takes what was decoded there.
  void TakePart(DecoderRows& rows, std::vector<int32_t>& taking_part);
  void TakeStep(const DecoderRows& rows, int32_t width);

  // With trace: what row `row` chose to read of the source in this step.
  void RecordSelected(int32_t row, const KeyList& list);

  int32_t rows_wanted() const;
  int32_t candidates_wanted() const { return CandidatesWanted(options_.beam); }
  // Whether a device may make its steps by itself: nothing that the host does comes between them.
  bool goes_ahead() const { return !options_.trace && options_.draft_tokens == 0; }
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

  ExitRule exit_rule_;  // of the chunk: the encoder resolves it under the sequence policy
  AttentionTally encoder_tally_;
  bool encoded_ = false;
  bool ahead_ = false;  // the device makes steps of it ahead: it has its rows and is as far as the host or further

  Hypotheses hypotheses_;
  Drafts drafts_;
  SequenceArrays arrays_;
  RowMeter meter_;
  std::unique_ptr<PackedLinear> classifier_;
  std::vector<int32_t> assigned_rows_;          // by slot
  std::vector<std::vector<int32_t>> selected_;  // by slot, with trace
};

}  // namespace salient

// One chunk being decoded: its hypotheses, what they may say next, and where its keys are.
//
// A sequence knows tokens and positions, not tensors. Each step it writes its live hypotheses into the decoder's rows,
// and reads their best next tokens from there. Greedy search is a beam of one.
//
// Segments stay aligned with the source: exactly as many separators are produced as the source has, the end only
// after the last; and a segment of n source tokens that reaches max_length_ratio * n + 16 tokens is closed and marked.
//
// Beam search of width B: the 2B best tokens of every live hypothesis form a pool, ordered by total log probability
// (ties: earlier hypothesis, lower token). Those that end the chunk and rank among the first B are finished, with
// score total / length^penalty; the others, best first, are the next B live ones. It stops when B are finished or none
// is live. Hypotheses are reordered by index: keys never move, a hypothesis lists the positions of its own history.
//
// What may follow a token, and the order of choices, are in engine/search/rules.h: a device that makes steps by itself
// applies the same rules (engine/search/advance.h), and Advance does the search again from what each step has found.
//
// Self-speculation (VERIFY, greedy): before a step up to draft_tokens tokens are drafted one after another at an early
// exit, each in a row of its own; then the step runs all of these rows to full depth at once, where row j sees the
// positions up to its own. The drafts that full depth would have chosen are kept, and after them its own choice: so
// every token is full depth's, bit for bit. What a wrong draft has left in the stores is overwritten when its
// positions are decoded again. Drafting stops early where the last draft was unlikely to be right; that depends on the
// sequence alone, as everything does.
//
// Not thread safe; the step loop owns it.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/api/options.h"
#include "engine/core/kv_store.h"
#include "engine/core/staging.h"
#include "engine/cost/meter.h"
#include "engine/depth/fill.h"
#include "engine/model/decoder.h"
#include "engine/model/encoder.h"
#include "engine/options/resolve.h"
#include "engine/search/rules.h"
#include "engine/text/chunk.h"

namespace salient {

// Room that a segment has for short sources, where the ratio alone would be too strict.
inline constexpr int32_t kSegmentSlack = 16;

// A vocabulary is at least so many times as large as what the confidence policy looks at first. What passes there is
// computed over the vocabulary all the same; a larger screen costs as much as it saves.
inline constexpr int32_t kVocabularyOverScreen = 3;

struct DecodedToken {
  int32_t token = 0;
  int32_t exit_at = 0;
  float log_probability = 0;
  std::vector<int32_t> selected;  // with trace: source positions that the first cross group chose; empty for all
};

// The translation of one piece of a chunk.
struct DecodedPiece {
  std::vector<DecodedToken> tokens;  // without the separator or end that closes it
  double score = 0;                  // sum of log probabilities, the closing token's included
  bool length_limited = false;
};

class Sequence {
 public:
  // `chunk`, `options` and `config` must outlive it; so must the backend and the stores. `tokens`, ascending,
  // are all that the translation may say, or without options.shortlist all that is drafted, and what the confidence
  // policy looks at first; none: the vocabulary.
  Sequence(const Chunk& chunk, const ResolvedOptions& options, std::vector<int32_t> prefix, const ModelConfig& config,
           Backend& backend, KvStore& self_store, KvStore& cross_store, const std::vector<int32_t>& tokens = {});
  ~Sequence();  // returns its pages
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // What a chunk needs at most: known before it starts, so that admission can wait for it.
  static int32_t LengthLimit(const Piece& piece, const ResolvedOptions& options);  // target tokens of a segment
  static int64_t MaxSteps(const Chunk& chunk, const ResolvedOptions& options);
  static int32_t RowsWanted(const ResolvedOptions& options);  // its beam; or a token and the drafts after it
  static int32_t SelfPages(const Chunk& chunk, const ResolvedOptions& options);
  static int32_t ExpectedPages(const Chunk& chunk, const ResolvedOptions& options);  // of those, as a rule
  static int32_t CrossPages(const Chunk& chunk);

  EncoderInput ForEncoder();
  void MarkEncoded();  // after the encoder has run on ForEncoder()
  bool encoded() const { return encoded_; }
  // Pages of its own keys that it has or takes when it is prepared for so many steps.
  int32_t SelfPagesFor(int32_t steps) const;

  // Decoder layers that its tokens run at most. Of the sequence policy known once it is encoded.
  int32_t deepest() const;

  // Decoder rows this sequence may use: RowsWanted of them, once it is encoded.
  void AssignRows(std::vector<int32_t> rows) { assigned_rows_ = std::move(rows); }
  const std::vector<int32_t>& assigned_rows() const { return assigned_rows_; }
  bool scheduled() const { return !assigned_rows_.empty(); }

  // As given. On the host's side.
  std::span<const int32_t> tokens() const { return {tokens_.data(), tokens_.size()}; }
  // Whether tokens() are only what the confidence policy looks at first.
  bool screens() const { return options_.exit.kind == ExitKind::kConfidence && !options_.shortlist; }
  // A classifier over tokens() alone.
  void OwnClassifier(std::unique_ptr<PackedLinear> classifier) { classifier_ = std::move(classifier); }
  bool has_own_classifier() const { return classifier_ != nullptr; }

  // Writes the live hypotheses into rows and appends the numbers of all rows that may take part in the step.
  void Prepare(DecoderRows& rows, std::vector<int32_t>& may_take_part) { Prepare(rows, may_take_part, 1, false); }
  // The same for steps that the device makes by itself, where goes_ahead(): `steps` are made at most beyond those that
  // TakeStep has been told of, and the rows are all that it may come to use. What is written holds for the first such
  // steps only (DecoderRows::begins).
  void PrepareAhead(DecoderRows& rows, std::vector<int32_t>& may_take_part, int32_t steps) {
    Prepare(rows, may_take_part, steps, true);
  }
  // The next draft, if there is to be one: writes what is drafted from and appends its row; then takes the draft.
  void PrepareDraft(DecoderRows& rows, std::vector<int32_t>& drafting);
  void TakeDraft(const DecoderRows& rows);
  // When nobody drafts any more: appends the rows that do take part. Then takes what was decoded there.
  void TakePart(DecoderRows& rows, std::vector<int32_t>& taking_part);
  void TakeStep(const DecoderRows& rows, int32_t width);

  // With trace: what row `row` chose to read of the source in this step.
  void RecordSelected(int32_t row, const KeyList& list);

  int32_t rows_wanted() const { return RowsWanted(options_); }
  int32_t candidates_wanted() const { return CandidatesWanted(options_.beam); }
  // Whether a device may make its steps by itself: nothing that the host does comes between them.
  bool goes_ahead() const { return !options_.trace && !verifies(); }
  bool wants_trace() const { return options_.trace; }
  bool done() const { return live_.empty(); }
  // Pieces whose translation is settled while the rest is still decoded; greedy search only, else none until the end.
  int32_t settled_pieces() const;
  DecodedPiece SettledPiece(int32_t index) const;
  int32_t tokens_so_far() const { return step_; }

  // After done(): the best translations, best first, at most n_best, each as the chunk's pieces.
  std::vector<std::vector<DecodedPiece>> Results() const;

  Meter& meter() { return meter_; }
  int64_t kv_bytes() const;

 private:
  struct Hypothesis {
    std::vector<DecodedToken> tokens;
    std::vector<int32_t> history;  // beam > 1: positions of its own keys, ascending, with the next
    double total = 0;
    SearchState state;
    std::vector<int32_t> limited;  // pieces that were closed for their length
  };
  struct DraftToken {
    int32_t token = 0;
    SearchState after;
  };
  struct Finished {
    Hypothesis hypothesis;
    double score = 0;
  };

  bool verifies() const { return options_.draft_tokens > 0; }
  SearchState After(const SearchState& state, int32_t token) const {
    return salient::After(state, token, config_.tokens);
  }
  bool IsFull(const SearchState& state) const { return state.offset() >= host_script_.pieces[state.piece].limit; }
  void Prepare(DecoderRows& rows, std::vector<int32_t>& may_take_part, int32_t steps, bool ahead);
  void TakePages(int32_t steps);
  void Stage(DecoderRows& rows, int32_t slot, const SearchState& state, int32_t token, const int32_t* history);
  void StageTokens(DecoderRows& rows, int32_t row, bool listed);
  void StageNext(DecoderRows& rows);
  int32_t RowsTakingPart() const;
  const int32_t* StageHistory(int32_t index);
  void StageBeam();
  // How many tokens an output layer scores.
  int32_t Outputs(bool listed) const {
    return listed && tokens_.size() > 0 ? static_cast<int32_t>(tokens_.size()) : config_.vocab_size;
  }
  void CountRow(const DecoderRows& rows, int32_t slot, int32_t step, bool kept);
  Hypothesis Extend(Hypothesis parent, const BeamChoice& choice, int32_t exit_at, int32_t slot) const;
  void Finish(Hypothesis hypothesis);
  void TakeVerified(const DecoderRows& rows, int32_t width);
  void RecordEnd();
  std::vector<DecodedPiece> PiecesOf(const Hypothesis& hypothesis) const;

  const Chunk& chunk_;
  const ResolvedOptions& options_;
  const std::vector<int32_t> prefix_;
  const ModelConfig& config_;
  KvStore& self_store_;
  KvStore& cross_store_;

  ExitRule exit_rule_;
  AttentionTally encoder_tally_;
  bool encoded_ = false;
  std::vector<int32_t> taken_self_, taken_cross_;
  // What kernels read of a chunk beside its rows.
  Staging staging_;
  StagedArray<int32_t> self_pages_, cross_pages_;  // page tables
  // Where there are several hypotheses: what a device needs to choose among them, and their histories, as in Beam.
  StagedArray<Beam> beam_;
  StagedArray<int32_t> histories_;
  StagedArray<uint8_t> exit_of_;
  StagedArray<int32_t> filled_to_;
  StagedArray<FillLedger> ledger_;
  StagedArray<ScriptPiece> pieces_;
  StagedArray<int32_t> forced_;  // the prefix
  StagedArray<Script> script_;
  Script host_script_;  // the same of the host's side
  StagedArray<int32_t> tokens_;
  StagedArray<TokenList> token_list_;  // of tokens_

  std::unique_ptr<PackedLinear> classifier_;

  std::vector<int32_t> assigned_rows_;
  std::vector<Hypothesis> live_;
  std::vector<Finished> finished_;
  std::vector<std::vector<int32_t>> selected_;  // by slot, with trace
  std::vector<DraftToken> drafts_;              // of this step
  int32_t max_drafts_ = 0;
  bool drafting_ = false;
  int32_t step_ = 0;    // tokens, as far as TakeStep has been told
  bool ahead_ = false;  // steps of it are made ahead: the device has its rows and is as far as this or further
  Meter meter_;
};

}  // namespace salient

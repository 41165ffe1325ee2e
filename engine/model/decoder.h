// The decoder: one step of many rows at once, each at its own position of its own document, with its own selection and
// its own depth.
//
// Rows leave layer by layer as they exit; the others are compacted, so that a layer's products are as small as its
// active rows. Keys that earlier exits left out are made as extra rows of a layer's own products (depth/fill.h). Rows
// that were held after a layer, to guess the tokens that follow, join the others there.
//
//   tokens -> embed -> [self-attention, cross-attention, feed-forward, exit?] x layers -> norm of the exit -> logits

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/attention/kv_store.h"
#include "engine/backend/backend.h"
#include "engine/backend/staging.h"
#include "engine/model/block.h"
#include "engine/model/model.h"
#include "engine/model/probe.h"

namespace salient {

// What a step reads and writes of each row, by row number. The caller fills the first part, on the host's side, for the
// rows that take part; after the step it finds the second there. Some rows more than there are hypotheses stand for
// positions that are filled (fill.h).
struct DecoderRows {
  DecoderRows(Backend& backend, const ModelConfig& config, int32_t rows, int32_t extra, int32_t width);

  Staging in, out, ahead;

  StagedArray<int32_t> token, step, offset, segment;  // input token; rotary position; offset and ordinal of its segment
  StagedArray<int32_t> position;                      // where its keys go: step * beam + hypothesis
  StagedArray<KeyView> self_view, cross_view;
  std::vector<StagedArray<SelectionRule>> self_rule, cross_rule;  // by group
  StagedArray<ExitRule> exit_rule;
  StagedArray<ExitRule> asked_exit_rule;  // the same, never resolved
  StagedArray<int32_t> held_at;           // layers that Draft has run of the row in this step; 0: none
  StagedArray<const AdvanceScript*> script;
  StagedArray<FillLedger*> ledger;
  StagedArray<TokenConstraint> constraint;
  StagedArray<const TokenList*> tokens;  // null: the whole vocabulary
  StagedArray<uint8_t> begins;           // for StepAhead: what is written here holds; else the row is further already
  // Of the row's window, over its tokens alone; null for none. Of use where the host addresses device memory.
  std::vector<const PackedLinear*> own_classifier;
  // Written by the decoder: which rows take part, and their lists' places.
  StagedArray<int32_t> taking_part, taking_part_count, record_step;
  KeyListArena self_arena, cross_arena;

  StagedArray<int32_t> exit_at;                         // layers run, from 1
  StagedArray<AttentionTally> self_tally, cross_tally;  // added to
  StagedArray<int32_t> fills;                           // positions filled for the row, added to
  StagedArray<Candidate> candidates;                    // [rows, width]
  StagedArray<StepRecord> records;                      // [kGroups * kMostAhead, rows] of steps made ahead

  // For steps made ahead: `in` as the host has written it, and which of it Enlist takes.
  std::vector<RowField> Fields() const;
  DeviceArray<std::byte> given;
  DeviceArray<RowField> fields;
  DeviceArray<uint8_t> goes_on;
};

// Sees the states after a layer: tests compare them with another implementation.
using LayerProbe = std::function<void(int32_t layer, Rows active, const float* states)>;

class Decoder {
 public:
  // Up to `rows` rows a step, and up to `fills` missing positions made in one go. Where the host cannot look at the
  // device's counts, `fills` must be a multiple of `rows`, at least twice as many: windows that lack keys wait for
  // fills / rows - 1 steps at most (fill.h).
  Decoder(const Model& model, Backend& backend, int32_t rows, int32_t fills, int32_t max_candidates);

  // Written only when no step is under way that reads it: after AwaitUpload, where steps are made ahead.
  DecoderRows& rows() { return at_; }

  // Gives rows room for the keys that they may choose in the step to come, and in each of `growth` more. Before the rest
  // of a step, for all rows that may take part in it.
  void Lay(const std::vector<int32_t>& rows, int32_t growth);

  // Runs rows as far as their exit rules say and leaves the best next token of each in rows(), to be guessed by. Their
  // states, chosen keys and tallies are held: Step takes the rows on from there, once the caller has set held_at and the
  // rule that holds from then on. A position is held in one row at a time.
  void Draft(const std::vector<int32_t>& rows, KvStore& self_store, KvStore& cross_store);

  // Decodes one token for each of `rows` (row numbers, ascending): exits and the `width` best next tokens are left in
  // rows(). The stores are the same in every call. Not thread safe.
  void Step(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store);

  // A group of steps in a row, of greedy translations only, which the device makes by itself (Backend::goes_ahead).
  // StepAhead returns when the group is launched; up to kGroups of them are under way, so that the device need not wait
  // for the host between them. Rows that begin (DecoderRows::begins) are as the caller has written them, the others
  // where the group before leaves them; those that end there, or within the group, take part no longer. TakeRecords
  // waits for the first group under way; Recall then puts what one of its steps did where Step would have put it, for
  // rows that took part. Between the last StepAhead and a Step all records must have been taken.
  static constexpr int32_t kMostAhead = 4;
  static constexpr int32_t kGroups = 2;
  void StepAhead(const std::vector<int32_t>& rows, KvStore& self_store, KvStore& cross_store);
  void TakeRecords();
  void Recall(const std::vector<int32_t>& rows, int32_t step);
  // Waits until what the caller has written of rows() for the last group is on the device.
  void AwaitUpload() { backend_.memory().WaitFor(uploaded_); }
  bool has_probes() const { return probe_ != nullptr || selection_probe_ != nullptr; }

  // For tests: called after every layer.
  void set_probe(LayerProbe probe) { probe_ = std::move(probe); }
  // For tests and traces: called after a selection layer has chosen, with its module and group; all of it on the host.
  using SelectionProbe = std::function<void(Module module, int32_t group, Rows active, const KeyList* lists)>;
  void set_selection_probe(SelectionProbe probe) { selection_probe_ = std::move(probe); }

 private:
  void Prepare(const std::vector<int32_t>& rows);
  void Enlist(int32_t capacity, int32_t place);
  void Advance(int32_t capacity);
  Rows TakingPart(const std::vector<int32_t>& rows);
  void NoteWishes(const std::vector<int32_t>& rows);
  uint64_t ReplayKey(int32_t capacity, int32_t width, bool ahead) const;
  void RunLayers(Rows all, int32_t width, KvStore& self_store, KvStore& cross_store);
  void Run(Rows all, int32_t width, KvStore& self_store, KvStore& cross_store);
  Rows Running(int32_t layer, Rows all);
  void SelfAttention(int32_t layer, Rows active, Rows all, KvStore& store);
  Rows FillMissing(int32_t layer, Rows active, Rows all, KvStore& store);
  void AppendKeys(int32_t layer, Rows rows, const float* input, KvStore& store);
  void CrossAttention(int32_t layer, Rows active, KvStore& store);
  void Attend(Module module, int32_t layer, Rows active, const float* input, KvStore& store);
  Rows Exits(int32_t layer, Rows active, int32_t width);
  void Signal(int32_t exit_layer, Rows active);
  void SettleLeavers(Rows staying, int32_t width);
  const float* ExitStates(Rows rows, const int32_t* set);
  void Score(Rows rows, int32_t exit_layer, const int32_t* set);
  void ScoreByWindow(Rows rows, const int32_t* set);
  bool HaveOwnClassifiers(const Rows& rows) const;
  void FindCandidates(Rows rows, const Logits& logits, int32_t width);
  Rows NotSettled(Rows rows);
  void Classify(Rows all, int32_t width);
  // The host looks at a count only where that does not mean waiting for the device.
  bool KnownEmpty(const Rows& rows) const { return backend_.host_addressable() && rows.size() == 0; }
  Rows Picked(Rows among) { return {picked_.data(), counts_.data() + kPicked, among.capacity}; }

  // Places in counts_.
  enum Count { kActive0, kActive1, kRunning, kFills, kExtended, kPicked, kCounts };

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  const int32_t max_rows_, max_fills_, patience_;
  const uint64_t id_;  // among the process's decoders
  Block block_;
  DecoderRows at_;

  DeviceArray<float> states_;  // [rows + fills, d] by row number
  DeviceArray<float> logits_;  // [rows, vocabulary]
  // What Score leaves: sets of rows and their logits, until the next.
  struct Scored {
    Rows rows;
    Logits logits;
  };
  std::vector<Scored> scored_;
  std::vector<int32_t> by_window_;  // scored rows, the rows of a window one after the other
  std::vector<uint8_t> settled_;    // by row number: the step's candidates are there already
  std::vector<int32_t> unsettled_;
  DeviceArray<float> signal_, heads_;
  DeviceArray<int32_t> exit_number_;  // [decoder layers + 1, rows] n, n, ...: whose norm all rows are seen through
  DeviceArray<int32_t> active_[2], running_, extended_, picked_, counts_;
  bool geometric_ = false, multinomial_ = false, confidence_ = false;  // which policies this step's rows have
  uint64_t held_ = 0;                                                  // bit n: some of them are held at n
  // Groups of steps, counted from the first: launched, and whose records were taken. Group n has place n % kGroups.
  int64_t launched_ = 0, taken_ = 0;
  std::array<uint64_t, kGroups> recorded_ = {};  // marks behind a place's records
  uint64_t uploaded_ = 0;
  ProbeCopies copies_;
  LayerProbe probe_;
  SelectionProbe selection_probe_;
};

}  // namespace salient

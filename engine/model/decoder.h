// The decoder: one step of many rows at once, each at its own position of its own document, with its own selection and
// its own depth.
//
// Rows that exit after a layer leave; the others are compacted, so a layer computes only its active rows. Keys that
// earlier exits left out are computed as extra rows of a layer's own products (depth/fill.h). Rows that were held after
// a layer to draft tokens continue from that layer with the others.
//
//   tokens -> embed -> [self-attention, cross-attention, feed-forward, exit?] x layers -> norm of the exit -> logits

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/kv_store.h"
#include "engine/core/staging.h"
#include "engine/model/block.h"
#include "engine/model/decoder_rows.h"
#include "engine/model/model.h"
#include "engine/model/output_layer.h"
#include "engine/model/probe.h"

namespace salient {

// Sees the states after a layer: tests compare them with another implementation.
using LayerProbe = std::function<void(int32_t layer, Rows active, const float* states)>;

class Decoder {
 public:
  // Up to `rows` rows a step, and up to `fills` missing positions made in one go. Where the host cannot look at the
  // device's counts, `fills` must be a multiple of `rows`, at least twice as many: chunks that lack keys wait for
  // fills / rows - 1 steps at most (fill.h).
  Decoder(const Model& model, Backend& backend, int32_t rows, int32_t fills, int32_t max_candidates);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Written only when no step is under way that reads it: after AwaitUpload, where steps are made ahead.
  DecoderRows& rows() { return at_; }

  // Gives rows room for the keys that they may choose in the step to come, and in each of `growth` more. Before the
  // rest of a step, for all rows that may take part in it.
  void PrepareRows(const std::vector<int32_t>& rows, int32_t growth);

  // Runs rows as far as their exit rules say and leaves the best next token of each in rows(), to be drafted by. Their
  // states, chosen keys and tallies are held: Step takes the rows on from there, once the caller has set held_at and
  // the rule that holds from then on. A position is held in one row at a time.
  void Draft(const std::vector<int32_t>& rows, KvStore& self_store, KvStore& cross_store);

  // Decodes one token for each of `rows` (row numbers, ascending): exits and the `width` best next tokens are left in
  // rows(). The stores are the same in every call. Not thread safe.
  void Step(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store);

  // A group of steps in a row, which the device makes by itself (Backend::goes_ahead). StepAhead returns when the group
  // is launched; up to kGroups of them are under way, so that the device need not wait for the host between them.
  // `rows` are all that the chunks may come to use, as many as each has hypotheses at most. Rows that begin
  // (DecoderRows::begins) are as the caller has written them, the others where the group before leaves them; those that
  // end there, or within the group, take part no longer. TakeRecords waits for the first group under way, and returns
  // the `width` that it was launched with; LoadRecord then puts what one of its steps did where Step would have put it,
  // for rows that took part. Between the last StepAhead and a Step all records must have been taken.
  static constexpr int32_t kMostAhead = 4;
  static constexpr int32_t kGroups = 2;
  void StepAhead(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store);
  int32_t TakeRecords();
  void LoadRecord(const std::vector<int32_t>& rows, int32_t step);
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
  Rows ScheduledRows(int32_t capacity) const;
  StepRecords Records(StepRecord* rows, Candidate* candidates) const {
    return {rows, candidates, kMostAhead, max_rows_, max_candidates_};
  }
  void LaunchMerge(int32_t capacity, int32_t place);
  void LaunchAdvance(int32_t capacity, int32_t width);
  Rows TakingPart(const std::vector<int32_t>& rows);
  void NoteSignals(const std::vector<int32_t>& rows);
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
  bool LooksAt(ExitSignal signal) const { return (signals_ >> static_cast<int>(signal) & 1) != 0; }
  // The host looks at a count only where that does not mean waiting for the device.
  bool KnownEmpty(const Rows& rows) const { return backend_.host_addressable() && rows.size() == 0; }

  // Places in counts_.
  enum Count { kActive0, kActive1, kRunning, kFills, kExtended, kCounts };

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  const int32_t max_rows_, max_fills_, max_candidates_, patience_;
  const uint64_t id_;  // among the process's decoders
  Block block_;
  DecoderRows at_;

  DeviceArray<float> states_;  // [rows + fills, d] by row number
  OutputLayer output_;
  DeviceArray<float> signal_, heads_;
  DeviceArray<int32_t> active_[2], running_, extended_, counts_;
  // Bit s: some of this step's rows have a policy that looks at ExitSignal s; kAligns: some ask for an alignment.
  static constexpr uint64_t kAligns = 1 << 6;
  uint64_t signals_ = 0;
  uint64_t held_ = 0;     // bit n: some of them are held at layer n
  // Groups of steps, counted from the first: launched, and whose records were taken. Group n has place n % kGroups.
  int64_t launched_ = 0, taken_ = 0;
  std::array<uint64_t, kGroups> recorded_ = {};  // marks behind a place's records
  std::array<int32_t, kGroups> width_ = {};      // and how many candidates a row they have
  uint64_t uploaded_ = 0;
  ProbeCopies copies_;
  LayerProbe probe_;
  SelectionProbe selection_probe_;
};

}  // namespace salient

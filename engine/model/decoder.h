// The decoder. One step decodes many rows at once; each row has its own document, position, selection and depth.
//
// Rows that exit after a layer leave; the others are compacted, so a layer computes only its active rows. Keys that
// earlier exits skipped are computed as extra rows of a layer's own products (depth/fill.h). Rows that were held after
// a layer to draft tokens continue from that layer together with the others.
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

// Called with the states after a layer; tests compare them with another implementation.
using LayerProbe = std::function<void(int32_t layer, Rows active, const float* states)>;

class Decoder {
 public:
  // A step has at most `rows` rows and fills at most `fills` missing positions. If the host cannot read the device's
  // counts, `fills` must be a multiple of `rows`, at least twice as many; then missing keys are filled after at most
  // fills / rows - 1 steps (fill.h).
  Decoder(const Model& model, Backend& backend, int32_t rows, int32_t fills, int32_t max_candidates);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Do not write while a step that reads it is running; if steps are made ahead, only after AwaitUpload.
  DecoderRows& rows() { return at_; }

  // Reserves room for the keys that the rows may select in the next step and in `growth` steps after it. Call it first
  // in a step, for all rows that may be in the step.
  void PrepareRows(const std::vector<int32_t>& rows, int32_t growth);

  // Drafts: runs rows to the exits of their rules and writes the best next token of each to rows(). Their states,
  // selected keys and tallies are held: Step continues the rows from there, after the caller has set held_at and the
  // exit rule for the rest of the step. A position is held in one row at a time.
  void Draft(const std::vector<int32_t>& rows, KvStore& self_store, KvStore& cross_store);

  // Decodes one token for each of `rows` (row numbers, ascending). Writes exits and the `width` best next tokens to
  // rows(). The stores must be the same in every call. Not thread safe.
  void Step(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store);

  // Groups of consecutive steps that the device makes by itself (Backend::can_step_ahead).
  //
  // StepAhead launches a group and returns. Up to kGroups groups are in progress, so that the device does not wait for
  // the host between them. `rows` are all rows that the chunks may use, as many as each has hypotheses at most. A row
  // with DecoderRows::begins starts from the values that the caller wrote; the others continue from the previous group.
  // Rows that have ended are skipped. TakeRecords waits for the oldest group in progress, and returns the `width` of
  // its launch. LoadRecord then writes the results of one of its steps to rows(), as Step would have, for the rows in
  // that step. All records must be taken between the last StepAhead and a Step.
  static constexpr int32_t kMostAhead = 4;
  static constexpr int32_t kGroups = 2;
  void StepAhead(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store);
  int32_t TakeRecords();
  void LoadRecord(const std::vector<int32_t>& rows, int32_t step);
  // Waits until the values of rows() for the last group are on the device. Then rows() may be written again.
  void AwaitUpload() { backend_.memory().WaitFor(uploaded_); }
  bool has_probes() const { return probe_ != nullptr || selection_probe_ != nullptr; }

  // For tests: called after every layer.
  void set_probe(LayerProbe probe) { probe_ = std::move(probe); }
  // For tests and traces: called after a selection layer has selected keys, with its module and group; data on the
  // host.
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
  Rows StageRows(const std::vector<int32_t>& rows);
  void NoteSignals(const std::vector<int32_t>& rows);
  uint64_t ReplayKey(int32_t capacity, int32_t width, bool ahead) const;
  void RunLayers(Rows all, int32_t width, KvStore& self_store, KvStore& cross_store);
  void Run(Rows all, int32_t width, KvStore& self_store, KvStore& cross_store);
  Rows Running(int32_t layer, Rows all);
  bool ReadsStatesAfter(int32_t layer) const;
  void SelfAttention(States& states, int32_t layer, Rows active, Rows all, KvStore& store);
  bool MayLackKeys() const;
  Rows FillMissing(States& states, int32_t layer, Rows active, Rows all, KvStore& store);
  void ProjectSelf(States& states, int32_t layer, Rows rows, Rows active, KvStore& store);
  void CrossAttention(States& states, int32_t layer, Rows active, KvStore& store);
  void Attend(Module module, int32_t layer, Rows active, KvStore& store);
  Rows Exits(int32_t layer, Rows active, int32_t width);
  void Signal(int32_t exit_layer, Rows active);
  bool UsesSignal(ExitSignal signal) const { return (signals_ >> static_cast<int>(signal) & 1) != 0; }
  // False if the host would have to wait for the device to know the count.
  bool IsKnownEmpty(const Rows& rows) const { return backend_.host_addressable() && rows.size() == 0; }

  // Places in counts_.
  enum Count { kActive0, kActive1, kRunning, kFills, kExtended, kCounts };

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  const int32_t max_rows_, max_fills_, max_candidates_, patience_;
  const uint64_t id_;  // unique among the process's decoders
  Block block_;
  DecoderRows at_;

  DeviceArray<float> states_;        // [rows + fills, d] by row number
  DeviceArray<float> spare_states_;  // as large if the model is post-norm: between blocks (States)
  OutputLayer output_;
  DeviceArray<float> signal_, heads_;
  DeviceArray<int32_t> active_[2], running_, extended_, counts_;
  // Bit s: some of this step's rows have a policy that uses ExitSignal s; kLeaveEarly: some may leave before the last
  // layer; kAligns: some ask for an alignment.
  static constexpr uint64_t kLeaveEarly = 1 << 5, kAligns = 1 << 6;
  uint64_t signals_ = 0;
  uint64_t held_ = 0;  // bit n: some of them are held at layer n
  // Number of groups of steps that were launched, and whose records were taken. Group n uses place n % kGroups.
  int64_t launched_ = 0, taken_ = 0;
  std::array<uint64_t, kGroups> recorded_ = {};  // by place: mark after its records
  std::array<int32_t, kGroups> width_ = {};      // by place: candidates of a row
  uint64_t uploaded_ = 0;
  ProbeCopies copies_;
  LayerProbe probe_;
  SelectionProbe selection_probe_;
};

}  // namespace salient

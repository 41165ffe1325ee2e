// The decoder: one step of many rows at once, each at its own position of its own document, with its own selection and
// its own depth.
//
// Rows leave layer by layer as they exit; the others are compacted, so that a layer's products are as small as its
// active rows. Keys that earlier exits left out are made as extra rows of a layer's own products (depth/fill.h).
//
//   tokens -> embed -> [self-attention, cross-attention, feed-forward, exit?] x layers -> norm of the exit -> logits

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/attention/kv_store.h"
#include "engine/backend/backend.h"
#include "engine/model/block.h"
#include "engine/model/model.h"

namespace salient {

// What a step reads and writes of each row, by row number, in device memory. The caller fills the first part for the
// rows that take part; the decoder fills the second.
struct DecoderRows {
  DecoderRows(Backend& backend, const ModelConfig& config, int32_t rows, int32_t extra, int32_t width);

  DeviceArray<int32_t> token, step, offset, segment;  // input token; rotary position; offset and ordinal of its segment
  DeviceArray<int32_t> position;                      // where its keys go: step * beam + hypothesis
  DeviceArray<int32_t> source_offset;                 // 0, 1, ... of the source token that a cross window is centred on
  DeviceArray<KeyView> self_view, cross_view;
  std::vector<DeviceArray<SelectionRule>> self_rule, cross_rule;  // by group
  DeviceArray<ExitRule> exit_rule;
  DeviceArray<FillLedger*> ledger;
  DeviceArray<TokenConstraint> constraint;

  DeviceArray<int32_t> exit_at;                         // layers run, from 1
  DeviceArray<AttentionTally> self_tally, cross_tally;  // added to
  DeviceArray<int32_t> fills;                           // positions filled for the row, added to
  DeviceArray<Candidate> candidates;                    // [rows, width]
};

// Sees the states after a layer: tests compare them with another implementation.
using LayerProbe = std::function<void(int32_t layer, Rows active, const float* states)>;

class Decoder {
 public:
  // Up to `rows` rows a step, and up to `fills` missing positions made in one go.
  Decoder(const Model& model, Backend& backend, int32_t rows, int32_t fills, int32_t max_candidates);

  DecoderRows& rows() { return at_; }

  // Decodes one token for each of `rows` (row numbers, ascending): exits and the `width` best next tokens are left in
  // rows(). Not thread safe.
  void Step(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store);

  // For tests: called after every layer.
  void set_probe(LayerProbe probe) { probe_ = std::move(probe); }
  // For tests and traces: called after a selection layer has chosen, with its module and group.
  using SelectionProbe = std::function<void(Module module, int32_t group, Rows active, const KeyList* lists)>;
  void set_selection_probe(SelectionProbe probe) { selection_probe_ = std::move(probe); }

 private:
  void NoteWishes(const std::vector<int32_t>& rows);
  void SelfAttention(int32_t layer, Rows active, KvStore& store);
  Rows FillMissing(int32_t layer, Rows active, KvStore& store);
  void AppendKeys(int32_t layer, Rows rows, const float* input, KvStore& store);
  void CrossAttention(int32_t layer, Rows active, KvStore& store);
  void Choose(Module module, int32_t layer, Rows active, const float* input, const SelectionWeights* selection,
              KvStore& store);
  Rows Exits(int32_t layer, Rows active);
  void Signal(int32_t exit_layer, Rows active);
  const float* ExitStates(Rows rows, const int32_t* set);
  void Classify(Rows rows, int32_t width);

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  const int32_t max_rows_, max_fills_;
  Block block_;
  DecoderRows at_;
  KeyListArena self_arena_, cross_arena_;
  DeviceArray<KeyList> self_lists_, cross_lists_;

  DeviceArray<float> states_;  // [rows + fills, d] by row number
  DeviceArray<float> logits_;  // [rows, vocabulary]
  DeviceArray<float> signal_, heads_;
  DeviceArray<int32_t> exit_set_;                        // exit_at - 1, by row number
  DeviceArray<int32_t> step_rows_, active_[2], counts_;  // counts_: of active_[0], active_[1], fills
  DeviceArray<int32_t> extended_, confident_;            // active rows and fills; rows of the confidence policy
  bool geometric_ = false, multinomial_ = false, confidence_ = false;  // which policies this step's rows have
  LayerProbe probe_;
  SelectionProbe selection_probe_;
};

}  // namespace salient

// The encoder: source windows in, what the decoder reads of them out.
//
// Several windows are encoded in one pass, their tokens packed one after another without padding; attention stays
// within a window. What is left of a pass is, for every decoder layer, the window's cross-attention keys and values in
// its pages of the cross store, and its cross selection keys.

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/attention/kv_store.h"
#include "engine/backend/backend.h"
#include "engine/backend/staging.h"
#include "engine/model/block.h"
#include "engine/model/model.h"
#include "engine/model/probe.h"
#include "engine/options/options.h"

namespace salient {

// One window to encode.
struct EncoderInput {
  std::span<const int32_t> tokens;  // with separators and EOS
  std::span<const int32_t> cross_pages;
  const ResolvedOptions* options = nullptr;
  ExitRule* exit = nullptr;         // in: the request's rule; out: kAt where the sequence policy has decided
  AttentionTally* tally = nullptr;  // added to
};

// Positions of tokens: the ordinal of the segment that each belongs to, and the offset within it. A separator closes
// its segment.
struct SourcePositions {
  std::vector<int32_t> segment, offset;
};
SourcePositions PositionsOf(std::span<const int32_t> tokens, int32_t separator);

class Encoder {
 public:
  // `max_tokens` in one pass, over all of its windows; `max_windows` in one pass.
  Encoder(const Model& model, Backend& backend, int32_t max_tokens, int32_t max_windows);

  // Fills the windows' cross pages. Not thread safe.
  void Encode(std::span<EncoderInput> windows, KvStore& cross_store);

  // After Encode: the states of the last pass, [tokens, d] in the order of its windows, on the device. For tests and
  // alignment.
  const float* output() const { return output_.data(); }

  // Sees the states after every layer, [tokens, d], and the keys that a selection layer chose, by token.
  using Probe = std::function<void(int32_t layer, int32_t tokens, const float* states)>;
  using SelectionProbe = std::function<void(int32_t group, int32_t tokens, const KeyList* lists)>;
  void set_probe(Probe probe) { probe_ = std::move(probe); }
  void set_selection_probe(SelectionProbe probe) { selection_probe_ = std::move(probe); }

 private:
  void Place(std::span<EncoderInput> windows);
  void SelfAttention(int32_t layer);
  void ChooseKeys(int32_t layer, const float* input);
  bool ChooseNeeding(std::span<EncoderInput> windows, int32_t layer);
  void WriteCross(std::span<EncoderInput> windows, KvStore& cross_store);
  void DecideSequenceExits(std::span<EncoderInput> windows);

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  Block block_;
  KvStore scratch_;  // keys of the layer that runs: one layer, one group
  int32_t tokens_count_ = 0;

  // By token of the pass.
  Staging in_, out_;
  StagedArray<int32_t> tokens_, offset_, segment_, position_;
  StagedArray<int32_t> scratch_pages_;  // the windows' page tables, one after the other
  StagedArray<KeyView> views_, cross_views_;
  std::vector<StagedArray<SelectionRule>> rules_;  // by group
  KeyListArena arena_;
  StagedArray<AttentionTally> tallies_;
  std::vector<int32_t> taken_, needing_;  // pages of scratch_; rows of the windows that need a layer
  DeviceArray<int32_t> chosen_;           // needing_ on the device
  Staging exits_;
  StagedArray<ExitRule> exit_rules_;  // by window
  DeviceArray<float> states_, output_, mean_, logits_;
  ProbeCopies copies_;
  Probe probe_;
  SelectionProbe selection_probe_;
};

}  // namespace salient

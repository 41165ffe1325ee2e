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
#include "engine/model/block.h"
#include "engine/model/model.h"
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

  // After Encode: the states of the last pass, [tokens, d] in the order of its windows. For tests and alignment.
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
  void WriteCross(std::span<EncoderInput> windows, KvStore& cross_store);
  void DecideSequenceExits(std::span<EncoderInput> windows);

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  Block block_;
  KvStore scratch_;  // keys of the layer that runs: one layer, one group
  KeyListArena arena_;
  std::vector<std::vector<int32_t>> scratch_pages_;
  int32_t tokens_count_ = 0;

  // By token of the pass.
  DeviceArray<int32_t> tokens_, offset_, segment_, position_;
  DeviceArray<KeyView> views_, cross_views_;
  std::vector<DeviceArray<SelectionRule>> rules_;  // by group
  DeviceArray<KeyList> lists_;
  DeviceArray<AttentionTally> tallies_;
  DeviceArray<int32_t> chosen_;  // rows of the windows that need a layer
  DeviceArray<float> states_, output_, mean_, logits_;
  Probe probe_;
  SelectionProbe selection_probe_;
};

}  // namespace salient

// The encoder. It encodes source chunks and writes the keys and values that the decoder reads.
//
// Several chunks are encoded in one pass. Their tokens are packed one after another without padding; attention stays
// within a chunk. The results of a pass are, for every decoder layer, each chunk's cross-attention keys and values and
// its cross selection keys, in its pages of the cross store.
//
// A pass can be interrupted and resumed, so that running translations need not wait for a whole pass. For each layer it
// computes first the keys of all rows and then their attention, both by ranges of rows. Results do not depend on the
// ranges, bit for bit. An asynchronous device gets the whole pass at once, and the host polls for its end.

#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "engine/api/module.h"
#include "engine/backend/backend.h"
#include "engine/core/kv_store.h"
#include "engine/core/staging.h"
#include "engine/model/block.h"
#include "engine/model/model.h"
#include "engine/model/probe.h"

namespace salient {

// One chunk to encode. The data that it points to must stay valid until the pass is done or the chunk is dropped.
struct EncoderInput {
  std::span<const int32_t> tokens;  // with separators and EOS
  std::span<const int32_t> cross_pages;
  std::span<const SelectionRule> rules;  // of the encoder's selection layers
  ExitRule* exit = nullptr;              // in: the request's rule; out: kFixed if the sequence policy has decided
  AttentionTally* tally = nullptr;       // added to
};

// Positions of tokens: the ordinal of the token's segment, and the offset in the segment. A separator belongs to the
// segment before it.
struct SourcePositions {
  std::vector<int32_t> segment, offset;
};
SourcePositions PositionsOf(std::span<const int32_t> tokens, int32_t separator);

class Encoder {
 public:
  // A pass has at most `max_tokens` tokens, over all of its chunks, and at most `max_chunks` chunks.
  Encoder(const Model& model, Backend& backend, int32_t max_tokens, int32_t max_chunks);

  // Begins a pass with these chunks; no pass may be in progress. An asynchronous device gets the whole pass. No method
  // is thread safe.
  void Begin(std::span<const EncoderInput> chunks, KvStore& cross_store);
  // Continues the pass for about `time`, at least by one range of rows. On an asynchronous device: checks whether the
  // pass is done, and waits for it if `time` is infinite. Returns whether the pass is done; then cross pages, exits and
  // tallies are filled.
  bool Continue(absl::Duration time);
  bool busy() const { return stage_ != Stage::kDone; }
  // Drops a chunk of the pass, by its index in Begin. Its data is no longer read or written.
  void Drop(size_t chunk);

  // After a pass: the states, [tokens, d] in the order of the chunks, on the device. For tests.
  const float* output() const { return output_.data(); }

  // Called with the states after every layer, [tokens, d], and the keys that a selection layer selected, by token.
  using Probe = std::function<void(int32_t layer, int32_t tokens, const float* states)>;
  using SelectionProbe = std::function<void(int32_t group, int32_t tokens, const KeyList* lists)>;
  void set_probe(Probe probe) { probe_ = std::move(probe); }
  void set_selection_probe(SelectionProbe probe) { selection_probe_ = std::move(probe); }

 private:
  enum class Stage { kKeys, kReading, kCross, kLaunched, kDone };
  // Rows first .. last - 1 of the pass.
  struct Range {
    int32_t first = 0, last = 0;
    int32_t size() const { return last - first; }
  };

  void RunFor(absl::Duration time);
  void PackChunks();
  Rows RowsOf(Range range) const;
  template <typename Body>
  void InParts(Range range, const Body& body);
  int32_t EndAfter(int32_t first, int32_t rows) const;
  int32_t RowsWithin(absl::Duration time) const;
  void Run(Range range);
  void NextStage();
  const int32_t* RotaryPositions() const;
  void WriteKeys(Range range);
  void ReadKeys(Range range);
  void ChooseKeys(Rows rows);
  void KeepOutput(Range range);
  void CallProbes();
  Rows Needing(Range range);
  void WriteCross(Range range);
  void DecideSequenceExits();
  void Launched();
  void Finish();

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  const int32_t part_rows_;
  Block block_;
  KvStore scratch_;  // keys of the layer that runs: one layer, one group

  // The pass in progress, and its next work.
  struct PassChunk {
    EncoderInput input;
    int32_t first = 0;  // its rows
    bool dropped = false;
  };
  std::vector<PassChunk> chunks_;
  KvStore* cross_store_ = nullptr;
  int32_t tokens_count_ = 0;
  Stage stage_ = Stage::kDone;
  int32_t layer_ = 0, row_ = 0;
  bool decides_exits_ = false;                // for some of its chunks
  uint64_t launched_ = 0;                     // mark after the whole pass
  std::array<double, 3> seconds_a_row_ = {};  // by stage, as last measured in this pass

  // By token of the pass.
  Staging in_, out_;
  StagedArray<int32_t> tokens_, offset_, segment_, position_;
  StagedArray<int32_t> scratch_pages_;  // the chunks' page tables, concatenated
  StagedArray<KeyView> views_, cross_views_;
  std::vector<StagedArray<SelectionRule>> rules_;  // by group
  KeyListArena arena_;
  StagedArray<AttentionTally> tallies_;
  std::vector<int32_t> taken_;      // pages of scratch_
  DeviceArray<int32_t> every_row_;  // 0, 1, 2, ...
  Staging needing_staging_;
  StagedArray<int32_t> needing_;  // by decoder layer: the rows whose cross keys it needs
  Staging exits_;
  StagedArray<ExitRule> exit_rules_;  // by chunk
  DeviceArray<float> states_, output_, mean_, logits_;
  ProbeCopies copies_;
  Probe probe_;
  SelectionProbe selection_probe_;
};

}  // namespace salient

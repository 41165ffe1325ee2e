// The decoder's output layer. It takes rows' states through the norm of the exit that they left at, computes logits
// over the vocabulary or over a chunk's likely tokens, and finds the best next tokens.
//
// The confidence policy compares the same logits. A row that leaves by them gets its next tokens at once; its logits
// are not computed again.

#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/model/block.h"
#include "engine/model/decoder_rows.h"
#include "engine/model/model.h"

namespace salient {

// Not thread safe. What the constructor is given must outlive it.
class OutputLayer {
 public:
  // `states` [., d] by row number; results are left in `at`, which has `rows` rows.
  OutputLayer(const Model& model, Backend& backend, Block& block, DecoderRows& at, const float* states, int32_t rows);

  // A step begins: no row is settled.
  void Begin();

  // The rows' states as a classifier or a halting head reads them, through the norm of exit n. [rows, d]
  const float* StatesAt(int32_t n, Rows rows) { return States(rows, exit_number_.data() + n * max_rows_); }

  // After layer n, for those of the rows whose policy compares it: the top probability, by row number, over the tokens
  // that the row may say or, if that is smaller, over its screen. Where the screens have products of their own and
  // theirs does not exceed the row's threshold, nothing else is computed.
  void Confidence(int32_t n, Rows rows, float* probability);

  // Those of the rows that Confidence has just looked at and that are not among `staying`, which is ascending, get
  // their candidates. Where the host does not see who left there is one product at the end in any case, and nothing is
  // done.
  void Settle(Rows staying, int32_t width);

  // The `width` best next tokens of all rows that are not settled, each by the classifier of its exit.
  void Classify(Rows all, int32_t width);

 private:
  // Rows and their logits.
  struct Scored {
    Rows rows;
    Logits logits;
  };

  const float* States(Rows rows, const int32_t* set);
  void Score(Rows rows, int32_t exit_layer, const int32_t* set);
  void ScoreByChunk(Rows rows, const int32_t* set, const TokenList* const* lists);
  bool HaveOwnClassifiers(const Rows& rows, const StagedArray<const TokenList*>& lists) const;
  bool MayHaveScreens(const Rows& rows) const;
  Rows PassedByScreens(Rows rows, int32_t n, float* probability);
  void FindCandidates(Rows rows, const Logits& logits, int32_t width);
  Rows NotSettled(Rows rows);
  Rows Picked(Rows among) { return {picked_.data(), picked_count_.data(), among.capacity}; }
  // The host looks at a count only where that does not mean waiting for the device.
  bool KnownEmpty(const Rows& rows) const { return backend_.host_addressable() && rows.size() == 0; }

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  Block& block_;
  DecoderRows& at_;
  const float* const states_;
  const int32_t max_rows_;

  DeviceArray<float> logits_;         // [rows, vocabulary]
  DeviceArray<int32_t> exit_number_;  // [decoder layers + 1, rows] n, n, ...: whose norm all rows are seen through
  DeviceArray<int32_t> picked_, picked_count_;
  std::vector<Scored> scored_;     // what Score leaves, until the next
  std::vector<int32_t> by_chunk_;  // scored rows, the rows of a chunk one after the other
  std::vector<uint8_t> settled_;   // by row number: the step's candidates are there already
  std::vector<int32_t> unsettled_, passed_;
};

}  // namespace salient

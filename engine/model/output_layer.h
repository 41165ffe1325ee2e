// The decoder's output layer. It applies the norm of each row's exit to its state, computes logits over the vocabulary
// or over a chunk's shortlist, and finds the best next tokens.
//
// The confidence policy uses the same logits. When a row leaves by the confidence policy, its next tokens are chosen at
// once, and its logits are not computed again.

#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/model/block.h"
#include "engine/model/decoder_rows.h"
#include "engine/model/model.h"

namespace salient {

// Not thread safe. The arguments of the constructor must outlive it.
class OutputLayer {
 public:
  // `states` [., d] by row number; results are written to `at`, which has `rows` rows.
  OutputLayer(const Model& model, Backend& backend, Block& block, DecoderRows& at, const float* states, int32_t rows);

  // Begins a step: no row is settled (has its candidates).
  void Begin();

  // The rows' states after the norm of exit n: the input of classifiers and halting heads. [rows, d]
  const float* StatesAt(int32_t n, Rows rows) { return States(rows, exit_number_.data() + n * max_rows_); }

  // After layer n, for the rows with the confidence policy: the top probability, by row number, over the tokens that
  // the row may produce, and over its screen (a part of them) if that is lower. If the screens have classifiers of
  // their own and the probability over the screen does not exceed the row's threshold, only the screen is computed.
  void Confidence(int32_t n, Rows rows, float* probability);

  // Sets the candidates of the rows of the last Confidence call that are not in `staying` (ascending). Does nothing if
  // the host cannot see which rows left: then one product at the end computes all candidates.
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
  // False if the host would have to wait for the device to know the count.
  bool IsKnownEmpty(const Rows& rows) const { return backend_.host_addressable() && rows.size() == 0; }

  const Model& model_;
  const ModelConfig& config_;
  Backend& backend_;
  Block& block_;
  DecoderRows& at_;
  const float* const states_;
  const int32_t max_rows_;

  DeviceArray<float> logits_;         // [rows, vocabulary]
  DeviceArray<int32_t> exit_number_;  // [decoder layers + 1, rows] n, n, ...: an exit, for all rows
  DeviceArray<int32_t> picked_, picked_count_;
  std::vector<Scored> scored_;     // the result of Score, until the next call
  std::vector<int32_t> by_chunk_;  // scored rows, grouped by chunk
  std::vector<uint8_t> settled_;   // by row number: whether the candidates of this step are set
  std::vector<int32_t> unsettled_, passed_;
};

}  // namespace salient

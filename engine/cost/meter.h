// Counts the work of a translation's chunks, and computes a report from the counts.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/api/report.h"
#include "engine/core/keys.h"
#include "engine/depth/exit.h"
#include "engine/model/config.h"

namespace salient {

// The work of one row in one decoding step.
struct RowCost {
  int32_t step = 0;           // target tokens before it
  int32_t source_tokens = 0;  // |x|
  int32_t exit_at = 0;        // layers run
  int32_t fills = 0;          // positions whose keys were filled for it, counted once for each layer
  int32_t outputs = 0;        // tokens that output layers scored for its choice and for its draft
  int32_t compared = 0;       // tokens that the confidence policy scores at a layer
  bool kept = true;           // its token is part of the translation, not of a rejected draft
  AttentionTally self, cross;
};

// The cost of one chunk (or, merged, of one document) so far. Plain values; not thread safe.
class Meter {
 public:
  explicit Meter(const ModelConfig& config);

  void AddEncoding(int32_t source_tokens, int32_t cross_layers, const AttentionTally& tally);
  void AddRow(const RowCost& row, const ExitRule& rule);
  void AddStep(int32_t documents);  // a step that included the document, and the number of documents in the step
  // The exit of one token of the finished translation, that is, of the best hypothesis.
  void AddExit(int32_t exit_at) { ++exits_[exit_at - 1]; }
  // Tokens that were drafted at an early exit, and how many of them were accepted.
  void AddDrafts(int32_t drafted, int32_t accepted);
  void Merge(const Meter& other);

  // All fields except times, sizes of the text, and memory.
  CostReport Report() const;

 private:
  const ModelConfig* config_;
  std::array<AttentionTally, kModules> tally_;
  int64_t dense_ = 0;  // keys that dense attention at full depth reads, over all layers
  std::vector<int64_t> exits_;
  double flops_ = 0, full_flops_ = 0;
  int64_t drafted_ = 0, accepted_ = 0;
  int64_t steps_ = 0, documents_in_steps_ = 0;
  int32_t peak_documents_ = 0;
};

}  // namespace salient

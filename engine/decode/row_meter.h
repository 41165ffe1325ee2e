// Adds the counts of a step for a chunk's rows to the chunk's meter.

#pragma once

#include <cstdint>

#include "engine/cost/meter.h"
#include "engine/model/decoder_rows.h"
#include "engine/options/resolve.h"

namespace salient {

class RowMeter {
 public:
  // `listed_tokens`: the number of tokens in the chunk's shortlist; 0: none. `options` must outlive it.
  RowMeter(const ModelConfig& config, const ResolvedOptions& options, int32_t source_tokens, int32_t listed_tokens)
      : options_(options),
        source_tokens_(source_tokens),
        listed_(listed_tokens > 0 ? listed_tokens : config.vocab_size),
        all_(config.vocab_size),
        meter_(config) {}

  void AddEncoding(const AttentionTally& tally) { meter_.AddEncoding(source_tokens_, options_.exit.greatest, tally); }

  // Adds row `row` of the step after `step` target tokens. `drafted`: a draft was made in the row first. `kept`: its
  // token is part of the translation.
  void AddRow(const DecoderRows& rows, int32_t row, int32_t step, bool drafted, bool kept) {
    meter_.AddRow({.step = step,
                   .source_tokens = source_tokens_,
                   .exit_at = rows.exit_at.data()[row],
                   .fills = rows.fills.data()[row],
                   .outputs = (options_.shortlist ? listed_ : all_) + (drafted ? listed_ : 0),
                   .compared = listed_,
                   .kept = kept,
                   .self = rows.self_tally.data()[row],
                   .cross = rows.cross_tally.data()[row]},
                  options_.exit);
  }

  Meter& meter() { return meter_; }

 private:
  const ResolvedOptions& options_;
  const int32_t source_tokens_, listed_, all_;
  Meter meter_;
};

}  // namespace salient

// The arrays of one chunk that kernels read, besides its rows: page tables, script, fill ledger, token list, and with a
// beam the hypotheses. The arrays live as long as the chunk is decoded; every row of the chunk points to them.
//
// docs/decoding.md shows how these arrays, the rows and the records of steps are related. Not thread safe.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/staging.h"
#include "engine/decode/hypotheses.h"
#include "engine/decode/page_table.h"
#include "engine/depth/fill.h"
#include "engine/model/decoder_rows.h"

namespace salient {

class SequenceArrays {
 public:
  // Takes the chunk's pages of the cross store. `tokens`: as in Sequence.
  SequenceArrays(const Chunk& chunk, const ResolvedOptions& options, const std::vector<int32_t>& prefix,
                 const ModelConfig& config, Backend& backend, KvStore& self_store, KvStore& cross_store,
                 const std::vector<int32_t>& tokens);

  // The script with host addresses.
  const Script& script() const { return host_script_; }
  std::span<const int32_t> tokens() const { return {tokens_.data(), tokens_.size()}; }
  std::span<const int32_t> cross_pages() const {
    return {cross_pages_.device(), static_cast<size_t>(cross_pages_.most())};
  }
  int64_t kv_bytes() const { return self_pages_.bytes() + cross_pages_.bytes(); }

  void GrowTo(int32_t self_pages) { self_pages_.GrowAndUpload(self_pages); }
  // Sets the most layers that a token of the chunk runs. Known once the chunk is encoded.
  void SetDeepest(int32_t layers);

  // The inputs of row `row` of `rows`: it decodes the token after `token`, at `state`, as hypothesis `slot` of the
  // chunk. `history`: the result of StageHistory; null for greedy search.
  struct Row {
    int32_t row = 0, slot = 0;
    SearchState state;
    int32_t token = 0;
    const int32_t* history = nullptr;
    const ExitRule* exit_rule = nullptr;
  };
  void WriteRow(DecoderRows& rows, const Row& row) const;
  // Sets the token list of a row, if `listed`, and the screen of its confidence policy.
  void WriteTokens(DecoderRows& rows, int32_t row, bool listed, const PackedLinear* own_classifier) const;

  // Writes a live hypothesis's own positions for kernels; returns their address on the device. Null in greedy search,
  // in which a hypothesis reads all positions.
  const int32_t* StageHistory(const Hypotheses& hypotheses, int32_t index);
  // Writes the data with which the device runs a beam search by itself. Does nothing in greedy search.
  void StageBeam(const Hypotheses& hypotheses, std::span<const int32_t> assigned_rows);

 private:
  const Chunk& chunk_;
  const ResolvedOptions& options_;
  const ModelConfig& config_;
  Staging staging_;
  PageTable self_pages_, cross_pages_;
  // With a beam: the data with which the device runs the search, and the histories of the hypotheses.
  StagedArray<Beam> beam_;
  StagedArray<int32_t> histories_;
  StagedArray<uint8_t> exit_of_;
  StagedArray<int32_t> filled_to_;
  StagedArray<FillLedger> ledger_;
  StagedArray<ScriptPiece> pieces_;
  StagedArray<int32_t> forced_;  // the prefix
  StagedArray<Script> script_;   // with addresses on the device
  Script host_script_;           // with addresses on the host
  StagedArray<int32_t> tokens_;
  StagedArray<TokenList> token_list_;  // of tokens_
};

}  // namespace salient

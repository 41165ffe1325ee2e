// What kernels read of one chunk beside its rows: page tables, script, ledger of fills, token list, and with a beam its
// hypotheses. The arrays live as long as the chunk is decoded; every row of the chunk points to them.
//
// docs/decoding.md shows how these arrays, the rows and the records of steps belong together. Not thread safe.

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
  // Takes the chunk's pages of the cross store. `tokens`: as Sequence's.
  SequenceArrays(const Chunk& chunk, const ResolvedOptions& options, const std::vector<int32_t>& prefix,
                 const ModelConfig& config, Backend& backend, KvStore& self_store, KvStore& cross_store,
                 const std::vector<int32_t>& tokens);

  // The script as the host reads it.
  const Script& script() const { return host_script_; }
  std::span<const int32_t> tokens() const { return {tokens_.data(), tokens_.size()}; }
  std::span<const int32_t> cross_pages() const {
    return {cross_pages_.device(), static_cast<size_t>(cross_pages_.most())};
  }
  int64_t kv_bytes() const { return self_pages_.bytes() + cross_pages_.bytes(); }

  void GrowTo(int32_t self_pages) { self_pages_.GrowAndUpload(self_pages); }
  // No token of the chunk runs a layer above `layers`. Known once the chunk is encoded.
  void SetDeepest(int32_t layers);

  // Writes row `row` of `rows`: it decodes the token after `token`, at `state`, as hypothesis `slot` of the chunk.
  // `history`: what StageHistory returned; null for greedy search.
  struct Row {
    int32_t row = 0, slot = 0;
    SearchState state;
    int32_t token = 0;
    const int32_t* history = nullptr;
    const ExitRule* exit_rule = nullptr;
  };
  void WriteRow(DecoderRows& rows, const Row& row) const;
  // Whether the row may say only what is listed, and what it may leave by.
  void WriteTokens(DecoderRows& rows, int32_t row, bool listed, const PackedLinear* own_classifier) const;

  // Writes a live hypothesis's own positions where kernels read them; returns their address on the device. Null in
  // greedy search, where a hypothesis reads all positions.
  const int32_t* StageHistory(const Hypotheses& hypotheses, int32_t index);
  // What a device needs to choose among several hypotheses by itself. Nothing in greedy search.
  void StageBeam(const Hypotheses& hypotheses, std::span<const int32_t> assigned_rows);

 private:
  const Chunk& chunk_;
  const ResolvedOptions& options_;
  const ModelConfig& config_;
  Staging staging_;
  PageTable self_pages_, cross_pages_;
  // Where there are several hypotheses: what a device needs to choose among them, and their histories, as in Beam.
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

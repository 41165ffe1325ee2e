// Assembles one document's reply while its chunks are decoded (tokens to text, text to segments, segments to the
// document) and calls its listener.
//
// Expensive work runs in a lane of the engine's workers, not in the step loop. The methods may be called from any
// thread; the listener is called in the order of the calls.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/api/result.h"
#include "engine/base/workers.h"
#include "engine/decode/hypotheses.h"
#include "engine/options/resolve.h"
#include "engine/text/chunk.h"
#include "engine/text/document.h"
#include "engine/text/tokenizer.h"

namespace salient {

class DocumentReply : public std::enable_shared_from_this<DocumentReply> {
 public:
  // The tokenizers and the workers must outlive it. `prefix`: the tokens that the source of every chunk begins with.
  DocumentReply(SegmentedDocument document, const std::vector<Chunk>& chunks, const ResolvedOptions& options,
                const Tokenizers& tokenizers, Workers& workers, std::shared_ptr<TranslationListener> listener,
                const std::vector<int32_t>& prefix = {});

  int32_t segments() const { return static_cast<int32_t>(segments_.size()); }

  // Takes settled pieces of a chunk, from index `first` on.
  void TakePieces(int32_t chunk, int32_t first, std::vector<DecodedPiece> pieces);
  // With n_best > 1: takes a chunk's translations, best first.
  void TakeAlternatives(int32_t chunk, std::vector<std::vector<DecodedPiece>> results);
  // Reports progress, after all segments that are complete. It fills in the numbers of segments.
  void TellProgress(TranslationProgress progress);

  // End the translation, with a result or an error. Exactly one is called, once. `report` is complete except for the
  // number of segments and of source tokens.
  void Finish(CostReport report);
  void Fail(absl::Status status);

 private:
  struct SegmentState {
    std::vector<std::optional<DecodedPiece>> pieces;  // in order, each once it is settled
    std::vector<int32_t> first_position;              // of each piece's chunk, in the document's source tokens
    int32_t source_tokens = 0;
    // Where an alignment is asked for: the source's tokens, and of each piece which of its chunk's source tokens is
    // the first of them and how many come before.
    std::vector<int32_t> tokens;
    std::vector<int32_t> first_in_chunk, tokens_before;
  };
  struct PieceAddress {
    int32_t segment = 0, piece = 0;
  };

  // Runs in the lane.
  void EmitSegments();
  TranslatedSegment Segment(int32_t index) const;
  // `written`: what the model wrote. `copies`: from that to `text`, the segment's.
  std::vector<TokenLink> Alignment(int32_t index, std::string_view written, const std::vector<Substitution>& copies,
                                   std::string_view text) const;
  std::string Written(const std::vector<const DecodedPiece*>& pieces) const;
  // What comes back in place of a segment's markers.
  std::vector<Substitution> Copies(int32_t segment, std::string_view written) const;
  std::string Alternative(int32_t rank) const;
  TranslationResult Result(CostReport report);

  const Tokenizers& tokenizers_;
  const std::shared_ptr<Lane> lane_;
  const SegmentedDocument document_;
  const ResolvedOptions options_;
  int32_t source_tokens_ = 0;
  std::vector<std::vector<PieceAddress>> addresses_;  // by chunk: the segment of each piece, and its index in it

  // Used only in the lane.
  std::shared_ptr<TranslationListener> listener_;
  std::vector<SegmentState> segments_;
  std::vector<std::vector<std::vector<DecodedPiece>>> alternatives_;  // by chunk, best first
  int32_t emitted_ = 0;
};

}  // namespace salient

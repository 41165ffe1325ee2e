// One document's reply, put together while its chunks are still decoded: tokens to text, text to segments, segments to
// the document; and its listener, who is told.
//
// Everything that costs time happens in a lane of the engine's workers, so the step loop only hands over. The methods
// may be called from any thread; the listener hears of things in the order of the calls.

#pragma once

#include <memory>
#include <optional>
#include <string>
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
  // The tokenizers and the workers outlive it. `prefix`: what every chunk's source begins with.
  DocumentReply(SegmentedDocument document, const std::vector<Chunk>& chunks, const ResolvedOptions& options,
                const Tokenizers& tokenizers, Workers& workers, std::shared_ptr<TranslationListener> listener,
                const std::vector<int32_t>& prefix = {});

  int32_t segments() const { return static_cast<int32_t>(segments_.size()); }
  int32_t source_tokens() const { return source_tokens_; }

  // Pieces of a chunk that are settled, from its `first` on.
  void TakePieces(int32_t chunk, int32_t first, std::vector<DecodedPiece> pieces);
  // With n_best > 1: a chunk's translations, best first.
  void TakeAlternatives(int32_t chunk, std::vector<std::vector<DecodedPiece>> results);
  // How far decoding is. Segments that can be told are told before.
  void TellProgress(int32_t target_tokens, bool queued);

  // Ends the translation, one or the other, once. Of `report` everything but segments and source tokens is there.
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

  // In the lane.
  void EmitSegments();
  TranslatedSegment Segment(int32_t index) const;
  std::vector<TokenLink> Alignment(const SegmentState& state, const TranslatedSegment& segment) const;
  std::string TextOf(const std::vector<const DecodedPiece*>& pieces) const;
  std::string Alternative(int32_t rank) const;
  TranslationResult Result(CostReport report);

  const Tokenizers& tokenizers_;
  const std::shared_ptr<Lane> lane_;
  const SegmentedDocument document_;
  const ResolvedOptions options_;
  int32_t source_tokens_ = 0;
  std::vector<std::vector<PieceAddress>> addresses_;  // a chunk's pieces: which segment, which piece of it

  // The lane's own.
  std::shared_ptr<TranslationListener> listener_;
  std::vector<SegmentState> segments_;
  std::vector<std::vector<std::vector<DecodedPiece>>> alternatives_;  // of a chunk, best first
  int32_t emitted_ = 0;
};

}  // namespace salient

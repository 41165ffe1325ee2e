// One document in the engine: its chunks in flight, the segments that come out, and the reply that is put together.
//
// Made in the caller's thread (Prepare does the text work), then owned by the step loop alone.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/api/request.h"
#include "engine/api/result.h"
#include "engine/cost/meter.h"
#include "engine/decode/sequence.h"
#include "engine/model/config.h"
#include "engine/schedule/scheduler.h"
#include "engine/text/chunk.h"
#include "engine/text/document.h"
#include "engine/text/tokenizer.h"

namespace salient {

class DocumentJob {
 public:
  // Checks the options and cuts the text. INVALID_ARGUMENT as Engine::Submit says.
  static absl::StatusOr<std::unique_ptr<DocumentJob>> Prepare(TranslationRequest request, const ModelConfig& config,
                                                              const Tokenizer& tokenizer, int64_t max_document_bytes,
                                                              std::shared_ptr<TranslationListener> listener);

  std::vector<Demand> Demands() const;  // of every chunk
  int32_t chunks() const { return static_cast<int32_t>(chunks_.size()); }
  absl::Time deadline() const { return deadline_; }

  // A chunk joins the next step. The sequence belongs to the job.
  Sequence& Start(int32_t chunk, const Model& model, Backend& backend, KvStore& self_store, KvStore& cross_store,
                  absl::Time now);
  void AddEncodeTime(double seconds) { encode_seconds_ += seconds; }
  // A chunk has got rows. Until the first has, the document waits, but for the time that its encoding took.
  void MarkDecoding(absl::Time now);

  // Tells the listener what a step has settled, and how far the document is.
  void ReportProgress();
  // Takes the results of chunks that are done and lets go of their sequences, after `leave` has taken each out of
  // the batch.
  template <typename Leave>
  void Collect(Leave leave) {
    for (size_t w = 0; w < sequences_.size(); ++w) {
      if (sequences_[w] == nullptr || !sequences_[w]->done()) continue;
      Take(static_cast<int32_t>(w));
      leave(*sequences_[w], static_cast<int32_t>(w));
      sequences_[w].reset();
    }
  }
  Sequence& sequence(int32_t chunk) { return *sequences_[chunk]; }
  // Lets go of a chunk's sequence before it is done. It may be started again, and then comes to the same translation;
  // what is settled stays so.
  void Preempt(int32_t chunk) { sequences_[chunk].reset(); }
  template <typename Leave>
  void Abandon(Leave leave) {
    for (size_t w = 0; w < sequences_.size(); ++w) {
      if (sequences_[w] != nullptr) leave(*sequences_[w], static_cast<int32_t>(w));
      sequences_[w].reset();
    }
  }

  bool started() const { return started_at_ != absl::InfiniteFuture(); }
  bool encoding() const;  // has a chunk that is being encoded
  bool decoding() const;  // has one that takes part in steps
  bool done() const { return chunks_done_ == chunks(); }

  // Ends the translation, one or the other, once.
  void Finish(absl::Time now);
  void Fail(const absl::Status& status) { listener_->OnDone(status); }

  // Set by Cancel from any thread, looked at between steps.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);

  template <typename Visit>
  void ForEachSequence(Visit visit) {
    for (auto& sequence : sequences_) {
      if (sequence != nullptr) visit(*sequence);
    }
  }

 private:
  struct SegmentState {
    std::vector<std::optional<DecodedPiece>> pieces;  // in order, each once it is settled
    int32_t source_tokens = 0;
  };
  struct PieceAddress {
    int32_t segment = 0, piece = 0;
  };

  DocumentJob(const ModelConfig& config, const Tokenizer& tokenizer)
      : config_(config), tokenizer_(tokenizer), meter_(config) {}

  std::vector<int32_t> LikelyTokens(int32_t chunk, const std::vector<int32_t>& prefix, const Model& model) const;
  void IndexPieces();
  void Take(int32_t chunk);
  void Settle(int32_t chunk);
  void EmitSegments();
  TranslatedSegment Segment(int32_t index) const;
  std::string TextOf(const std::vector<const DecodedPiece*>& pieces) const;
  std::string Alternative(int32_t rank) const;

  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  std::shared_ptr<TranslationListener> listener_;
  ResolvedOptions options_;
  std::vector<int32_t> language_, prefix_;  // what every chunk's translation begins with; the first chunk's
  absl::Time submitted_at_ = absl::InfiniteFuture(), started_at_ = absl::InfiniteFuture(), deadline_;
  double encode_seconds_ = 0;
  std::optional<double> queue_seconds_;  // until the first chunk began to be decoded, without its encoding

  SegmentedDocument document_;
  std::vector<Chunk> chunks_;
  std::vector<std::vector<PieceAddress>> addresses_;  // a chunk's pieces: which segment, which piece of it
  std::vector<SegmentState> segments_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::vector<int32_t> settled_;                                      // pieces taken of a chunk
  std::vector<std::vector<std::vector<DecodedPiece>>> alternatives_;  // of a chunk, best first
  int32_t chunks_done_ = 0, emitted_ = 0, target_tokens_done_ = 0;
  TranslationProgress told_;
  int64_t peak_kv_bytes_ = 0;
  Meter meter_;
};

}  // namespace salient

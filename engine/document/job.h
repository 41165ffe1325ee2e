// One document in the engine: its chunks in flight, and what they cost. Its reply is put together elsewhere (reply.h).
//
// Made by one of the engine's workers (Prepare does the text work), then owned by the step loop alone.

#pragma once

#include <atomic>
#include <map>
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
#include "engine/document/reply.h"
#include "engine/model/config.h"
#include "engine/schedule/scheduler.h"
#include "engine/text/chunk.h"

namespace salient {

class DocumentJob {
 public:
  // What is checked before anything is done for a document: its size and its options. INVALID_ARGUMENT as
  // Engine::Submit says.
  static absl::StatusOr<ResolvedOptions> Check(const TranslationRequest& request, const ModelConfig& config,
                                               int64_t max_document_bytes);

  // Cuts the text. `options` are what Check gave. INVALID_ARGUMENT for text that cannot be, and for a prefix that is
  // too long.
  static absl::StatusOr<std::unique_ptr<DocumentJob>> Prepare(TranslationRequest request, ResolvedOptions options,
                                                              absl::Time submitted_at, const ModelConfig& config,
                                                              const Tokenizers& tokenizers, Workers& workers,
                                                              std::shared_ptr<TranslationListener> listener);

  std::vector<Demand> Demands() const;  // of every chunk
  int32_t chunks() const { return static_cast<int32_t>(chunks_.size()); }
  absl::Time deadline() const { return deadline_; }
  const Flow& flow() const { return flow_; }

  // A chunk joins the next step. The sequence belongs to the job.
  Sequence& Start(int32_t chunk, const Model& model, Backend& backend, KvStore& self_store, KvStore& cross_store,
                  absl::Time now);
  void AddEncodeTime(double seconds) { encode_seconds_ += seconds; }
  // A chunk has got rows. Until the first has, the document waits, but for the time that its encoding took.
  void MarkDecoding(absl::Time now);

  // Hands over what a step has settled, and how far the document is.
  void ReportProgress();
  // Takes the results of chunks that are done and lets go of their sequences, after `leave` has taken each out of
  // the batch.
  template <typename Leave>
  void Collect(Leave leave) {
    for (auto at = sequences_.begin(); at != sequences_.end();) {
      if (!at->second->done() || at->second->failed()) {
        ++at;
        continue;
      }
      Take(at->first, *at->second);
      leave(*at->second, at->first);
      at = sequences_.erase(at);
    }
  }
  Sequence& sequence(int32_t chunk) { return *sequences_.at(chunk); }
  // Lets go of a chunk's sequence before it is done. It may be started again, and then comes to the same translation;
  // what is settled stays so.
  void Preempt(int32_t chunk) { sequences_.erase(chunk); }
  template <typename Leave>
  void Abandon(Leave leave) {
    for (auto& [chunk, sequence] : sequences_) leave(*sequence, chunk);
    sequences_.clear();
  }

  bool started() const { return started_at_ != absl::InfiniteFuture(); }
  bool in_flight() const { return !sequences_.empty(); }  // has a chunk that is encoded or decoded
  bool encoding() const;                                  // has a chunk that is being encoded
  bool decoding() const;                                  // has one that takes part in steps
  bool done() const { return chunks_done_ == chunks(); }
  // OK, or why the document cannot be finished: the model's scores for one of its chunks were no numbers.
  absl::Status health() const;

  // Ends the translation, one or the other, once.
  void Finish(absl::Time now);
  void Fail(const absl::Status& status) { reply_->Fail(status); }

  // The first of the chunks in flight that take part in steps; null if none does.
  Sequence* FirstDecoding();

 private:
  DocumentJob(const ModelConfig& config) : config_(config), meter_(config) {}

  std::vector<int32_t> LikelyTokens(int32_t chunk, const std::vector<int32_t>& prefix, const Model& model) const;
  void Take(int32_t chunk, Sequence& sequence);
  void Settle(int32_t chunk, const Sequence& sequence);

  const ModelConfig& config_;
  ResolvedOptions options_;
  std::vector<int32_t> language_, prefix_;  // what every chunk's translation begins with; the first chunk's
  Flow flow_;
  absl::Time submitted_at_ = absl::InfiniteFuture(), started_at_ = absl::InfiniteFuture(), deadline_;
  double encode_seconds_ = 0;
  std::optional<double> queue_seconds_;  // until the first chunk began to be decoded, without its encoding

  std::vector<Chunk> chunks_;
  std::map<int32_t, std::unique_ptr<Sequence>> sequences_;  // of the chunks in flight
  std::vector<int32_t> settled_;                            // pieces taken of a chunk
  std::shared_ptr<DocumentReply> reply_;
  int32_t chunks_done_ = 0, target_tokens_done_ = 0;
  int32_t told_tokens_ = 0;
  std::optional<bool> told_queued_;
  bool news_ = false;  // pieces were handed over
  int64_t peak_kv_bytes_ = 0;
  Meter meter_;
};

}  // namespace salient

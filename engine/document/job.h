// One document in the engine: its chunks in flight, and their cost. reply.h assembles its reply.
//
// One of the engine's workers creates it (Prepare does the text work). Then the step loop owns it.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
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

// A document that is taken and not cut yet.
struct Submission {
  TranslationRequest request;
  ResolvedOptions options;  // the result of DocumentJob::Check
  absl::Time submitted_at;
  std::shared_ptr<TranslationListener> listener;
};

class DocumentJob {
 public:
  // Checks the size and the options of a document, before any other work. INVALID_ARGUMENT as documented at
  // Engine::Submit.
  static absl::StatusOr<ResolvedOptions> Check(const TranslationRequest& request, const ModelConfig& config,
                                               int64_t max_document_bytes);

  // Splits the text into chunks. INVALID_ARGUMENT for invalid text and for a prefix that is too long or that the model
  // cannot write. Asks between its parts whether the document is still wanted, and fails where it is not.
  static absl::StatusOr<std::unique_ptr<DocumentJob>> Prepare(Submission submission, const ModelConfig& config,
                                                              const Tokenizers& tokenizers, Workers& workers,
                                                              const std::function<absl::Status()>& wanted);

  std::vector<Demand> Demands() const;  // of every chunk
  int32_t chunks() const { return static_cast<int32_t>(chunks_.size()); }
  absl::Time deadline() const { return deadline_; }
  const Flow& flow() const { return flow_; }

  // Creates the sequence of a chunk that joins the next step. The job owns it.
  Sequence& Start(int32_t chunk, const Model& model, Backend& backend, KvStore& self_store, KvStore& cross_store,
                  absl::Time now);
  void AddEncodeTime(double seconds) { encode_seconds_ += seconds; }
  // A chunk has got rows. Until the first one has, the time counts as queue time, except the time of its encoding.
  void MarkDecoding(absl::Time now);

  // Passes the newly settled pieces and the progress to the reply.
  void ReportProgress();
  // Takes the results of chunks that are done, calls `leave` to remove each sequence from the batch, and destroys it.
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
  // Destroys a chunk's sequence before it is done. If it is started again, it produces the same translation. Settled
  // pieces stay settled.
  void Preempt(int32_t chunk) { sequences_.erase(chunk); }
  template <typename Leave>
  void Abandon(Leave leave) {
    for (auto& [chunk, sequence] : sequences_) leave(*sequence, chunk);
    sequences_.clear();
  }

  bool started() const { return started_at_ != absl::InfiniteFuture(); }
  bool in_flight() const { return !sequences_.empty(); }  // has a chunk that is encoded or decoded now
  bool encoding() const;                                  // has a chunk that is being encoded
  bool done() const { return chunks_done_ == chunks(); }
  // OK, or the error: the model's scores for one of its chunks were not numbers.
  absl::Status health() const;

  // End the translation, with a result or an error. Exactly one is called, once.
  void Finish(absl::Time now);
  void Fail(const absl::Status& status) { reply_->Fail(status); }

  // The first of the chunks in flight that take part in steps; null if none does.
  Sequence* FirstDecoding();

 private:
  DocumentJob(const ModelConfig& config) : config_(config), meter_(config) {}

  std::vector<int32_t> LikelyTokens(int32_t chunk, const std::vector<int32_t>& prefix, const Model& model) const;
  void Take(int32_t chunk, Sequence& sequence);
  void Settle(int32_t chunk, const Sequence& sequence);
  double ShareDone() const;

  const ModelConfig& config_;
  ResolvedOptions options_;
  std::vector<int32_t> language_, prefix_;  // forced at the start of every chunk's translation; of the first chunk's
  Flow flow_;
  absl::Time submitted_at_ = absl::InfiniteFuture(), started_at_ = absl::InfiniteFuture(), deadline_;
  double encode_seconds_ = 0;
  std::optional<double> queue_seconds_;  // until the first chunk was decoded, without its encoding

  std::vector<Chunk> chunks_;
  std::map<int32_t, std::unique_ptr<Sequence>> sequences_;  // of the chunks in flight
  std::vector<int32_t> settled_;                            // pieces taken of a chunk
  std::shared_ptr<DocumentReply> reply_;
  int32_t chunks_done_ = 0, target_tokens_done_ = 0;
  int64_t source_tokens_ = 0, source_tokens_done_ = 0;  // of all chunks, of those that are done
  int32_t told_tokens_ = 0;
  double told_share_ = 0;
  std::optional<bool> told_queued_;
  bool news_ = false;  // pieces were passed to the reply
  int64_t peak_kv_bytes_ = 0;
  Meter meter_;
};

}  // namespace salient

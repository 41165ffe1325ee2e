#include "engine/document/job.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/decode/demand.h"
#include "engine/options/languages.h"
#include "engine/text/copier.h"
#include "engine/text/document.h"

namespace salient {
namespace {

constexpr int32_t kProgressTokens = 32;     // how often a listener hears of tokens between segments
constexpr double kMostOfUnfinished = 0.95;  // of a chunk counts as done while it is not, however long its translation

}  // namespace

absl::StatusOr<ResolvedOptions> DocumentJob::Check(const TranslationRequest& request, const ModelConfig& config,
                                                   int64_t max_document_bytes) {
  const int64_t size = static_cast<int64_t>(request.text.size());
  if (size == 0) return absl::InvalidArgumentError("document.text is empty");
  if (size > max_document_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("document.text has ", size, " bytes; at most ", max_document_bytes,
                                                   " are accepted: split the document, or start the server with a "
                                                   "larger --max-document-bytes"));
  }
  if (absl::Status pair = ResolveLanguages(request.source_language, request.target_language, config).status();
      !pair.ok()) {
    return pair;
  }
  return Resolve(request.options, config);
}

absl::StatusOr<std::unique_ptr<DocumentJob>> DocumentJob::Prepare(Submission submission, const ModelConfig& config,
                                                                  const Tokenizers& tokenizers, Workers& workers,
                                                                  const std::function<absl::Status()>& wanted) {
  const TranslationRequest& request = submission.request;
  absl::StatusOr<LanguagePair> languages = ResolveLanguages(request.source_language, request.target_language, config);
  if (!languages.ok()) return languages.status();
  absl::StatusOr<SegmentedDocument> document = SplitDocument(request.text, request.segmentation, languages->source);
  if (!document.ok()) return document.status();
  if (absl::Status after_split = wanted(); !after_split.ok()) return after_split;
  if (tokenizers.copier != nullptr) {
    std::string_view prefix = request.options.search.prefix;  // of the first segment
    for (Segment& segment : document->segments) {
      segment.substitutions = tokenizers.copier->For(segment.text, std::exchange(prefix, {}));
    }
    if (absl::Status after_copies = wanted(); !after_copies.ok()) return after_copies;
  }

  std::unique_ptr<DocumentJob> job(new DocumentJob(config));
  job->options_ = std::move(submission.options);
  job->language_ = languages->target_prefix;
  job->prefix_ = job->language_;
  std::vector<int32_t> asked = tokenizers.target->Encode(request.options.search.prefix);
  if (std::find(asked.begin(), asked.end(), config.tokens.unknown) != asked.end()) {
    return absl::InvalidArgumentError(
        "search.prefix has characters that the model cannot write, for its vocabulary has no piece for them; leave "
        "them out");
  }
  // Which markers the translation has is the search's to say.
  std::erase_if(asked, [&config](int32_t token) { return config.tokens.MarkerOf(token) >= 0; });
  job->prefix_.insert(job->prefix_.end(), asked.begin(), asked.end());
  job->flow_ = {request.client, request.bulk, request.weight};
  job->submitted_at_ = submission.submitted_at;
  job->deadline_ = request.deadline;
  job->chunks_ =
      MakeChunks(*document, *tokenizers.source, config.tokens, config.chunk_tokens, languages->source_prefix);
  // The prefix is forced into the first segment, whose room is bounded like any other's.
  const int32_t prefix = static_cast<int32_t>(job->prefix_.size());
  const int32_t room = job->chunks_.empty() ? prefix : TextLimit(job->chunks_[0].pieces[0], job->options_);
  if (prefix > room) {
    return absl::InvalidArgumentError(absl::StrCat("search.prefix has ", prefix,
                                                   " tokens; the first segment may have at most ", room,
                                                   ": shorten it, or raise search.max_length_ratio"));
  }
  job->settled_.resize(job->chunks_.size(), 0);
  for (const Chunk& chunk : job->chunks_) job->source_tokens_ += static_cast<int64_t>(chunk.tokens.size());
  job->reply_ = std::make_shared<DocumentReply>(*std::move(document), job->chunks_, job->options_, tokenizers, workers,
                                                std::move(submission.listener), languages->source_prefix);
  return job;
}

std::vector<Demand> DocumentJob::Demands() const {
  std::vector<Demand> demands;
  for (const Chunk& chunk : chunks_) {
    demands.push_back({.rows = RowsWanted(options_),
                       .self_pages = SelfPages(chunk, options_),
                       .cross_pages = CrossPages(chunk),
                       .source_tokens = static_cast<int32_t>(chunk.tokens.size()),
                       .expected_pages = ExpectedPages(chunk, options_)});
  }
  return demands;
}

Sequence& DocumentJob::Start(int32_t chunk, const Model& model, Backend& backend, KvStore& self_store,
                             KvStore& cross_store, absl::Time now) {
  started_at_ = std::min(started_at_, now);
  // A prefix is the beginning of the document's translation: the first chunk's.
  const std::vector<int32_t>& prefix = chunk == 0 ? prefix_ : language_;
  auto& sequence = sequences_[chunk];
  sequence = std::make_unique<Sequence>(chunks_[chunk], options_, prefix, config_, backend, self_store, cross_store,
                                        LikelyTokens(chunk, prefix, model));
  return *sequence;
}

// What a chunk's translation may say, or what it drafts or leaves by before it asks the whole vocabulary.
std::vector<int32_t> DocumentJob::LikelyTokens(int32_t chunk, const std::vector<int32_t>& prefix,
                                               const Model& model) const {
  const bool drafts = options_.draft_tokens > 0, compares = options_.exit.policy == DepthPolicy::kConfidence;
  if (model.shortlist == nullptr || !(options_.shortlist || drafts || compares)) return {};
  std::vector<int32_t> tokens = model.shortlist->TokensFor(chunks_[chunk].tokens, prefix);
  const bool few = static_cast<int64_t>(tokens.size()) * kVocabularyOverScreen <= config_.vocab_size;
  return options_.shortlist || drafts || few ? tokens : std::vector<int32_t>();
}

void DocumentJob::MarkDecoding(absl::Time now) {
  if (queue_seconds_.has_value()) return;
  queue_seconds_ = std::max(0.0, absl::ToDoubleSeconds(now - submitted_at_) - encode_seconds_);
}

bool DocumentJob::encoding() const {
  return std::any_of(sequences_.begin(), sequences_.end(), [](const auto& entry) { return !entry.second->encoded(); });
}

Sequence* DocumentJob::FirstDecoding() {
  for (auto& [chunk, sequence] : sequences_) {
    if (sequence->scheduled()) return sequence.get();
  }
  return nullptr;
}

absl::Status DocumentJob::health() const {
  for (const auto& [chunk, sequence] : sequences_) {
    if (!sequence->failed()) continue;
    return absl::InternalError(absl::StrCat("the model's scores for part ", chunk + 1, " of ", chunks(),
                                            " of this document are not numbers, so it has no translation; other "
                                            "documents are not affected. Try other settings, and check the model"));
  }
  return absl::OkStatus();
}

// Pieces that a chunk has settled, handed over. Greedy search settles them one by one.
void DocumentJob::Settle(int32_t chunk, const Sequence& sequence) {
  const int32_t settled = sequence.settled_pieces();
  if (settled_[chunk] >= settled) return;
  reply_->TakePieces(chunk, settled_[chunk], sequence.SettledPieces(settled_[chunk]));
  settled_[chunk] = settled;
  news_ = true;
}

// As if every translation had as many tokens as its source.
double DocumentJob::ShareDone() const {
  double done = static_cast<double>(source_tokens_done_);
  for (const auto& [chunk, sequence] : sequences_) {
    const auto whole = static_cast<double>(chunks_[chunk].tokens.size());
    done += std::min<double>(sequence->tokens_so_far(), kMostOfUnfinished * whole);
  }
  return done / std::max<double>(1, static_cast<double>(source_tokens_));
}

void DocumentJob::ReportProgress() {
  int64_t bytes = 0;
  int32_t tokens = target_tokens_done_;
  for (const auto& [chunk, sequence] : sequences_) {
    Settle(chunk, *sequence);
    bytes += sequence->kv_bytes();
    tokens += sequence->tokens_so_far();
  }
  peak_kv_bytes_ = std::max(peak_kv_bytes_, bytes);
  // A chunk that was preempted begins anew; the document is no less far for that.
  tokens = std::max(tokens, told_tokens_);
  if (!news_ && told_queued_ == !started() && tokens < told_tokens_ + kProgressTokens) return;
  told_tokens_ = tokens;
  told_queued_ = !started();
  told_share_ = std::max(told_share_, ShareDone());
  news_ = false;
  reply_->TellProgress({.target_tokens = tokens, .queued = !started(), .share_done = told_share_});
}

void DocumentJob::Take(int32_t chunk, Sequence& sequence) {
  Settle(chunk, sequence);
  target_tokens_done_ += sequence.tokens_so_far();
  source_tokens_done_ += static_cast<int64_t>(chunks_[chunk].tokens.size());
  meter_.Merge(sequence.meter());
  if (options_.n_best > 1) reply_->TakeAlternatives(chunk, sequence.Results());
  ++chunks_done_;
}

void DocumentJob::Finish(absl::Time now) {
  if (!started()) started_at_ = now;  // a document without anything to translate
  CostReport report = meter_.Report();
  report.chunks = chunks();
  report.queue_seconds = queue_seconds_.value_or(absl::ToDoubleSeconds(started_at_ - submitted_at_));
  report.total_seconds = absl::ToDoubleSeconds(now - submitted_at_);
  report.encode_seconds = encode_seconds_;
  report.decode_seconds = std::max(0.0, report.total_seconds - report.queue_seconds - encode_seconds_);
  report.peak_kv_bytes = peak_kv_bytes_;
  reply_->Finish(std::move(report));
}

}  // namespace salient

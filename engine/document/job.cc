#include "engine/document/job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/options/languages.h"

namespace salient {
namespace {

constexpr int32_t kProgressTokens = 32;  // how often a listener hears of tokens between segments

// A segment has no line break; a model that produces one all the same must not shift the document's lines.
std::string OnOneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DocumentJob>> DocumentJob::Prepare(TranslationRequest request, const ModelConfig& config,
                                                                  const Tokenizer& tokenizer,
                                                                  int64_t max_document_bytes,
                                                                  std::shared_ptr<TranslationListener> listener) {
  const int64_t size = static_cast<int64_t>(request.text.size());
  if (size == 0) return absl::InvalidArgumentError("document.text is empty");
  if (size > max_document_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("document.text has ", size, " bytes; at most ", max_document_bytes,
                                                   " are accepted: split the document, or start the server with a "
                                                   "larger --max-document-bytes"));
  }
  absl::StatusOr<ResolvedOptions> options = Resolve(request.options, config);
  if (!options.ok()) return options.status();
  absl::StatusOr<LanguagePair> languages = ResolveLanguages(request.source_language, request.target_language, config);
  if (!languages.ok()) return languages.status();
  absl::StatusOr<SegmentedDocument> document = SplitDocument(request.text, request.segmentation, languages->source);
  if (!document.ok()) return document.status();

  std::unique_ptr<DocumentJob> job(new DocumentJob(config, tokenizer));
  job->listener_ = std::move(listener);
  job->options_ = *std::move(options);
  job->language_ = languages->target_prefix;
  job->prefix_ = job->language_;
  const std::vector<int32_t> asked = tokenizer.EncodeTarget(request.options.search.prefix);
  job->prefix_.insert(job->prefix_.end(), asked.begin(), asked.end());
  job->submitted_at_ = absl::Now();
  job->deadline_ = request.deadline;
  job->document_ = *std::move(document);
  job->chunks_ = MakeChunks(job->document_, tokenizer, config.tokens, config.chunk_tokens, languages->source_prefix);
  // The prefix is forced into the first segment, whose room is bounded like any other's.
  const int32_t prefix = static_cast<int32_t>(job->prefix_.size());
  if (!job->chunks_.empty() && prefix > Sequence::LengthLimit(job->chunks_[0].pieces[0], job->options_)) {
    return absl::InvalidArgumentError(absl::StrCat("search.prefix has ", prefix,
                                                   " tokens; the first segment may have at most ",
                                                   Sequence::LengthLimit(job->chunks_[0].pieces[0], job->options_),
                                                   ": shorten it, or raise search.max_length_ratio"));
  }
  job->sequences_.resize(job->chunks_.size());
  job->settled_.resize(job->chunks_.size(), 0);
  job->alternatives_.resize(job->chunks_.size());
  job->IndexPieces();
  return job;
}

// A segment that was too long for a chunk comes back in several pieces; this says where each belongs.
void DocumentJob::IndexPieces() {
  segments_.resize(document_.segments.size());
  for (const Chunk& chunk : chunks_) {
    addresses_.emplace_back();
    for (const Piece& piece : chunk.pieces) {
      SegmentState& segment = segments_[piece.segment];
      addresses_.back().push_back({piece.segment, static_cast<int32_t>(segment.pieces.size())});
      segment.pieces.emplace_back();
      segment.source_tokens += piece.tokens;
    }
  }
}

std::vector<Demand> DocumentJob::Demands() const {
  std::vector<Demand> demands;
  for (const Chunk& chunk : chunks_) {
    demands.push_back({.rows = Sequence::RowsWanted(options_),
                       .self_pages = Sequence::SelfPages(chunk, options_),
                       .cross_pages = Sequence::CrossPages(chunk),
                       .source_tokens = static_cast<int32_t>(chunk.tokens.size()),
                       .expected_pages = Sequence::ExpectedPages(chunk, options_)});
  }
  return demands;
}

Sequence& DocumentJob::Start(int32_t chunk, const Model& model, Backend& backend, KvStore& self_store,
                             KvStore& cross_store, absl::Time now) {
  started_at_ = std::min(started_at_, now);
  // A prefix is the beginning of the document's translation: the first chunk's.
  const std::vector<int32_t>& prefix = chunk == 0 ? prefix_ : language_;
  sequences_[chunk] = std::make_unique<Sequence>(chunks_[chunk], options_, prefix, config_, backend, self_store,
                                                 cross_store, LikelyTokens(chunk, prefix, model));
  return *sequences_[chunk];
}

// What a chunk's translation may say, or what it drafts or leaves by before it asks the whole vocabulary.
std::vector<int32_t> DocumentJob::LikelyTokens(int32_t chunk, const std::vector<int32_t>& prefix,
                                               const Model& model) const {
  const bool drafts = options_.draft_tokens > 0, compares = options_.exit.kind == ExitKind::kConfidence;
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
  return std::any_of(sequences_.begin(), sequences_.end(),
                     [](const auto& sequence) { return sequence != nullptr && !sequence->encoded(); });
}

bool DocumentJob::decoding() const {
  return std::any_of(sequences_.begin(), sequences_.end(),
                     [](const auto& sequence) { return sequence != nullptr && sequence->scheduled(); });
}

// Pieces that a chunk has settled, moved to their segments. Greedy search settles them one by one.
void DocumentJob::Settle(int32_t chunk) {
  const Sequence& sequence = *sequences_[chunk];
  for (int32_t& next = settled_[chunk]; next < sequence.settled_pieces(); ++next) {
    SegmentState& segment = segments_[addresses_[chunk][next].segment];
    const size_t piece = addresses_[chunk][next].piece;
    segment.pieces[piece] = sequence.SettledPiece(next);
  }
}

void DocumentJob::ReportProgress() {
  int64_t bytes = 0;
  int32_t tokens = target_tokens_done_;
  for (size_t w = 0; w < sequences_.size(); ++w) {
    if (sequences_[w] == nullptr) continue;
    Settle(static_cast<int32_t>(w));
    bytes += sequences_[w]->kv_bytes();
    tokens += sequences_[w]->tokens_so_far();
  }
  peak_kv_bytes_ = std::max(peak_kv_bytes_, bytes);
  EmitSegments();
  // A chunk that was preempted begins anew; the document is no less far for that.
  tokens = std::max(tokens, told_.target_tokens);
  const TranslationProgress progress{emitted_, static_cast<int32_t>(segments_.size()), tokens, !started()};
  const bool news = progress.segments_done != told_.segments_done || progress.queued != told_.queued ||
                    progress.target_tokens >= told_.target_tokens + kProgressTokens;
  if (!news) return;
  told_ = progress;
  listener_->OnProgress(progress);
}

void DocumentJob::EmitSegments() {
  for (; emitted_ < static_cast<int32_t>(segments_.size()); ++emitted_) {
    const SegmentState& segment = segments_[emitted_];
    const bool settled = std::all_of(segment.pieces.begin(), segment.pieces.end(),
                                     [](const std::optional<DecodedPiece>& piece) { return piece.has_value(); });
    if (!settled) return;
    listener_->OnSegment(Segment(emitted_));
  }
}

void DocumentJob::Take(int32_t chunk) {
  Settle(chunk);
  Sequence& sequence = *sequences_[chunk];
  target_tokens_done_ += sequence.tokens_so_far();
  meter_.Merge(sequence.meter());
  if (options_.n_best > 1) alternatives_[chunk] = sequence.Results();
  ++chunks_done_;
}

std::string DocumentJob::TextOf(const std::vector<const DecodedPiece*>& pieces) const {
  std::string text;
  for (const DecodedPiece* piece : pieces) {
    std::vector<int32_t> tokens;
    for (const DecodedToken& token : piece->tokens) tokens.push_back(token.token);
    const std::string decoded = OnOneLine(tokenizer_.Decode(tokens));
    if (!text.empty() && !decoded.empty()) text += ' ';
    text += decoded;
  }
  return text;
}

TranslatedSegment DocumentJob::Segment(int32_t index) const {
  const SegmentState& state = segments_[index];
  TranslatedSegment segment;
  segment.index = index;
  segment.source = document_.segments[index].text;
  segment.source_tokens = state.source_tokens;
  std::vector<const DecodedPiece*> pieces;
  for (const std::optional<DecodedPiece>& piece : state.pieces) {
    pieces.push_back(&*piece);
    segment.score += piece->score;
    segment.target_tokens += static_cast<int32_t>(piece->tokens.size());
    segment.length_limited |= piece->length_limited;
    for (const DecodedToken& token : piece->tokens) {
      if (!options_.trace) break;
      segment.trace.push_back(
          {tokenizer_.Piece(token.token), token.exit_at, std::exp(token.log_probability), token.selected});
    }
  }
  segment.text = TextOf(pieces);
  return segment;
}

// The i-th best translation: of every chunk its i-th best, or its last where it has fewer.
std::string DocumentJob::Alternative(int32_t rank) const {
  std::vector<std::vector<const DecodedPiece*>> pieces(segments_.size());
  for (size_t w = 0; w < chunks_.size(); ++w) {
    const auto& results = alternatives_[w];
    const std::vector<DecodedPiece>& chosen = results[std::min<size_t>(rank, results.size() - 1)];
    for (size_t p = 0; p < chosen.size(); ++p) pieces[addresses_[w][p].segment].push_back(&chosen[p]);
  }
  std::vector<std::string> texts;
  for (const auto& segment : pieces) texts.push_back(TextOf(segment));
  return JoinDocument(document_, texts);
}

void DocumentJob::Finish(absl::Time now) {
  EmitSegments();
  if (!started()) started_at_ = now;  // a document without anything to translate
  TranslationResult result;
  std::vector<std::string> texts;
  for (int32_t i = 0; i < static_cast<int32_t>(segments_.size()); ++i) {
    result.segments.push_back(Segment(i));
    texts.push_back(result.segments.back().text);
  }
  result.text = JoinDocument(document_, texts);
  for (int32_t rank = 1; rank < options_.n_best && !chunks_.empty(); ++rank) {
    result.alternatives.push_back(Alternative(rank));
  }
  result.used = options_.used;
  CostReport& report = result.report;
  report = meter_.Report();
  for (const SegmentState& segment : segments_) report.source_tokens += segment.source_tokens;
  report.segments = static_cast<int32_t>(segments_.size());
  report.chunks = chunks();
  report.queue_seconds = queue_seconds_.value_or(absl::ToDoubleSeconds(started_at_ - submitted_at_));
  report.total_seconds = absl::ToDoubleSeconds(now - submitted_at_);
  report.encode_seconds = encode_seconds_;
  report.decode_seconds = std::max(0.0, report.total_seconds - report.queue_seconds - encode_seconds_);
  report.peak_kv_bytes = peak_kv_bytes_;
  listener_->OnDone(std::move(result));
}

}  // namespace salient

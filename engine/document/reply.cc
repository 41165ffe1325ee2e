#include "engine/document/reply.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_replace.h"
#include "engine/text/copier.h"
#include "engine/text/token_spans.h"

namespace salient {
namespace {

// A segment has no line break; a model that produces one all the same must not shift the document's lines.
std::string OnOneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  absl::StrReplaceAll({{"\u0085", " "}, {"\u2028", " "}, {"\u2029", " "}}, &text);  // Unicode's own
  return text;
}

// The part of the source that a marker stands for; nullopt for other pieces. `copied`: the source's copies alone, which
// are few, where a hostile text may have as many substitutions as it has tokens.
std::optional<TokenSpan> CopiedPart(std::string_view piece, const std::vector<Substitution>& copied) {
  for (const Substitution& one : copied) {
    if (one.by == piece) return TokenSpan{static_cast<int32_t>(one.begin), static_cast<int32_t>(one.end)};
  }
  return std::nullopt;
}

TokenSpan Moved(const TokenSpan& span, const Moves& moves) {
  if (span.begin == span.end) return span;
  return {static_cast<int32_t>(moves.Begin(span.begin)), static_cast<int32_t>(moves.End(span.end))};
}

}  // namespace

// A segment that was too long for a chunk comes back in several pieces; `addresses_` says where each belongs.
DocumentReply::DocumentReply(SegmentedDocument document, const std::vector<Chunk>& chunks,
                             const ResolvedOptions& options, const Tokenizers& tokenizers, Workers& workers,
                             std::shared_ptr<TranslationListener> listener, const std::vector<int32_t>& prefix)
    : tokenizers_(tokenizers),
      lane_(std::make_shared<Lane>(workers)),
      document_(std::move(document)),
      options_(options),
      listener_(std::move(listener)),
      segments_(document_.segments.size()),
      alternatives_(chunks.size()) {
  int32_t position = 0;
  for (const Chunk& chunk : chunks) {
    addresses_.emplace_back();
    auto at = static_cast<int32_t>(prefix.size());  // in the chunk
    for (const Piece& piece : chunk.pieces) {
      SegmentState& segment = segments_[piece.segment];
      addresses_.back().push_back({piece.segment, static_cast<int32_t>(segment.pieces.size())});
      segment.pieces.emplace_back();
      segment.first_position.push_back(position);
      segment.source_tokens += piece.tokens;
      source_tokens_ += piece.tokens;
      if (!options.alignment) continue;
      const int32_t own = piece.tokens - (&piece == &chunk.pieces.front() ? static_cast<int32_t>(prefix.size()) : 0);
      segment.first_in_chunk.push_back(at);
      segment.tokens_before.push_back(static_cast<int32_t>(segment.tokens.size()));
      segment.tokens.insert(segment.tokens.end(), chunk.tokens.begin() + at, chunk.tokens.begin() + at + own);
      at += own + 1;
    }
    position += static_cast<int32_t>(chunk.tokens.size());
  }
}

void DocumentReply::TakePieces(int32_t chunk, int32_t first, std::vector<DecodedPiece> pieces) {
  lane_->Post([self = shared_from_this(), chunk, first, pieces = std::move(pieces)]() mutable {
    for (size_t i = 0; i < pieces.size(); ++i) {
      const PieceAddress& address = self->addresses_[chunk][first + i];
      self->segments_[address.segment].pieces[address.piece] = std::move(pieces[i]);
    }
    self->EmitSegments();
  });
}

void DocumentReply::TakeAlternatives(int32_t chunk, std::vector<std::vector<DecodedPiece>> results) {
  lane_->Post([self = shared_from_this(), chunk, results = std::move(results)]() mutable {
    self->alternatives_[chunk] = std::move(results);
  });
}

void DocumentReply::TellProgress(TranslationProgress progress) {
  lane_->Post([self = shared_from_this(), progress]() mutable {
    progress.segments_done = self->emitted_;
    progress.segments_total = self->segments();
    self->listener_->OnProgress(progress);
  });
}

void DocumentReply::Finish(CostReport report) {
  lane_->Post([self = shared_from_this(), report = std::move(report)]() mutable {
    self->EmitSegments();
    const std::shared_ptr<TranslationListener> listener = std::move(self->listener_);
    listener->OnDone(self->Result(std::move(report)));
  });
}

void DocumentReply::Fail(absl::Status status) {
  lane_->Post([self = shared_from_this(), status = std::move(status)] {
    const std::shared_ptr<TranslationListener> listener = std::move(self->listener_);
    listener->OnDone(status);
  });
}

void DocumentReply::EmitSegments() {
  for (; emitted_ < segments(); ++emitted_) {
    const SegmentState& segment = segments_[emitted_];
    const bool settled = std::all_of(segment.pieces.begin(), segment.pieces.end(),
                                     [](const std::optional<DecodedPiece>& piece) { return piece.has_value(); });
    if (!settled) return;
    listener_->OnSegment(Segment(emitted_));
  }
}

std::string DocumentReply::Written(const std::vector<const DecodedPiece*>& pieces) const {
  std::string text;
  for (const DecodedPiece* piece : pieces) {
    std::vector<int32_t> tokens;
    for (const DecodedToken& token : piece->tokens) tokens.push_back(token.token);
    const std::string decoded = OnOneLine(tokenizers_.target->Decode(tokens));
    if (!text.empty() && !decoded.empty() && !EndsWide(text)) text += ' ';
    text += decoded;
  }
  return text;
}

std::vector<Substitution> DocumentReply::Copies(int32_t segment, std::string_view written) const {
  const auto& source = document_.segments[segment];
  return CopiesIn(written, source.text, source.substitutions);
}

TranslatedSegment DocumentReply::Segment(int32_t index) const {
  const SegmentState& state = segments_[index];
  TranslatedSegment segment;
  segment.index = index;
  segment.source = document_.segments[index].text;
  segment.source_tokens = state.source_tokens;
  std::vector<const DecodedPiece*> pieces;
  for (size_t p = 0; p < state.pieces.size(); ++p) {
    const DecodedPiece& piece = *state.pieces[p];
    pieces.push_back(&piece);
    segment.score += piece.score;
    segment.target_tokens += static_cast<int32_t>(piece.tokens.size());
    segment.length_limited |= piece.length_limited;
    for (const DecodedToken& token : piece.tokens) {
      if (!options_.trace) break;
      segment.trace.push_back(
          {tokenizers_.target->Piece(token.token), token.exit_at, std::exp(token.log_probability), token.selected});
      for (int32_t& position : segment.trace.back().selected) position += state.first_position[p];
    }
  }
  const std::string written = Written(pieces);
  const std::vector<Substitution> copies = Copies(index, written);
  segment.text = Substituted(written, copies);
  if (options_.alignment) segment.alignment = Alignment(index, written, copies, segment.text);
  return segment;
}

std::vector<TokenLink> DocumentReply::Alignment(int32_t index, std::string_view written,
                                                const std::vector<Substitution>& copies, std::string_view text) const {
  const SegmentState& state = segments_[index];
  std::vector<int32_t> target, aligned;
  for (size_t p = 0; p < state.pieces.size(); ++p) {
    const int32_t end =
        p + 1 < state.pieces.size() ? state.tokens_before[p + 1] : static_cast<int32_t>(state.tokens.size());
    for (const DecodedToken& token : state.pieces[p]->tokens) {
      if (!tokenizers_.target->IsWritten(token.token)) continue;  // a language's token
      target.push_back(token.token);
      const int32_t source = token.aligned - state.first_in_chunk[p] + state.tokens_before[p];
      aligned.push_back(token.aligned >= state.first_in_chunk[p] && source < end ? source : -1);
    }
  }
  const std::vector<Substitution>& substitutions = document_.segments[index].substitutions;
  const std::string read = Substituted(document_.segments[index].text, substitutions);
  const std::vector<TokenSpan> of_read = TokenSpans(*tokenizers_.source, state.tokens, read);
  const std::vector<TokenSpan> of_written = TokenSpans(*tokenizers_.target, target, written);
  const Moves to_source = Moves::Back(substitutions), to_text = Moves::To(copies);
  std::vector<Substitution> copied;
  std::copy_if(substitutions.begin(), substitutions.end(), std::back_inserter(copied),
               [](const Substitution& one) { return one.is_copy; });
  std::vector<TokenLink> links;
  for (size_t t = 0; t < target.size(); ++t) {
    TokenSpan from = aligned[t] < 0 ? TokenSpan{} : Moved(of_read[aligned[t]], to_source);
    TokenSpan to = Moved(of_written[t], to_text);
    while (to.begin < to.end && text[to.begin] == ' ') ++to.begin;  // that a copy after punctuation got
    if (!copied.empty()) from = CopiedPart(tokenizers_.target->Piece(target[t]), copied).value_or(from);
    if (from.begin < from.end && to.begin < to.end) links.push_back({from.begin, from.end, to.begin, to.end});
  }
  return links;
}

// The i-th best translation: of every chunk its i-th best, or its last where it has fewer.
std::string DocumentReply::Alternative(int32_t rank) const {
  std::vector<std::vector<const DecodedPiece*>> pieces(segments_.size());
  for (size_t chunk = 0; chunk < addresses_.size(); ++chunk) {
    const auto& results = alternatives_[chunk];
    const std::vector<DecodedPiece>& chosen = results[std::min<size_t>(rank, results.size() - 1)];
    for (size_t p = 0; p < chosen.size(); ++p) pieces[addresses_[chunk][p].segment].push_back(&chosen[p]);
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string written = Written(pieces[i]);
    texts.push_back(Substituted(written, Copies(static_cast<int32_t>(i), written)));
  }
  return JoinDocument(document_, texts);
}

TranslationResult DocumentReply::Result(CostReport report) {
  TranslationResult result;
  std::vector<std::string> texts;
  for (int32_t i = 0; i < segments(); ++i) {
    result.segments.push_back(Segment(i));
    texts.push_back(result.segments.back().text);
    segments_[i].pieces.clear();
  }
  result.text = JoinDocument(document_, texts, &result.begins);
  for (int32_t rank = 1; rank < options_.n_best && !addresses_.empty(); ++rank) {
    result.alternatives.push_back(Alternative(rank));
  }
  result.used = options_.used;
  report.source_tokens = source_tokens_;
  report.segments = segments();
  result.report = std::move(report);
  return result;
}

}  // namespace salient

#include "engine/decode/hypotheses.h"

#include <algorithm>
#include <cmath>

namespace salient {

Hypotheses::Hypotheses(const Chunk& chunk, const ResolvedOptions& options, const ModelConfig& config)
    : chunk_(chunk), options_(options), config_(config), live_(1) {
  if (options.beam > 1) live_[0].history.push_back(KeyPosition(0, options.beam, 0));
}

void Hypotheses::TakeToken(const RowResult& result) {
  const Candidate& candidate = result.candidates[0];
  const BeamChoice choice{TotalWith(live_[0].total, candidate), 0, candidate};
  Hypothesis extended = Extend(std::move(live_[0]), choice, result);
  ++step_;
  if (candidate.token == config_.tokens.end) {
    live_.clear();
    return Finish(std::move(extended));
  }
  live_[0] = std::move(extended);
}

void Hypotheses::TakeStep(std::span<const RowResult> results) {
  if (options_.beam == 1) return TakeToken(results[0]);
  std::vector<BeamChoice> pool;
  for (int32_t i = 0; i < static_cast<int32_t>(live_.size()); ++i) {
    for (const Candidate& candidate : results[i].candidates) {
      if (candidate.token < 0) break;
      pool.push_back({TotalWith(live_[i].total, candidate), i, candidate});
    }
  }
  std::sort(pool.begin(), pool.end(), Before);
  std::vector<Hypothesis> next;
  for (size_t rank = 0; rank < pool.size() && static_cast<int32_t>(next.size()) < options_.beam; ++rank) {
    const BeamChoice& choice = pool[rank];
    const bool ends = choice.candidate.token == config_.tokens.end;
    if (IsDropped(ends, static_cast<int32_t>(rank), options_.beam)) continue;
    Hypothesis extended = Extend(live_[choice.parent], choice, results[choice.parent]);
    if (ends) {
      Finish(std::move(extended));
      continue;
    }
    const auto index = static_cast<int32_t>(next.size());
    extended.history.push_back(KeyPosition(step_ + 1, options_.beam, index));
    next.push_back(std::move(extended));
  }
  ++step_;
  live_ = std::move(next);
  if (finished() >= options_.beam) live_.clear();
  if (!done()) return;
  std::stable_sort(finished_.begin(), finished_.end(),
                   [](const Finished& a, const Finished& b) { return a.score > b.score; });
}

Hypothesis Hypotheses::Extend(Hypothesis parent, const BeamChoice& choice, const RowResult& result) const {
  const Candidate& candidate = choice.candidate;
  const SearchState& state = parent.state;
  const bool closes = candidate.token == config_.tokens.separator || candidate.token == config_.tokens.end;
  const bool full = state.offset() >= script_.pieces[state.piece].limit;
  parent.tokens.push_back({candidate.token,
                           result.exit_at,
                           candidate.log_probability,
                           {result.selected.begin(), result.selected.end()}});
  parent.total = choice.total;
  if (closes && full) parent.limited.push_back(state.piece);
  parent.state = After(state, candidate.token);
  return parent;
}

void Hypotheses::Finish(Hypothesis hypothesis) {
  const double length = static_cast<double>(hypothesis.tokens.size());
  const double score = hypothesis.total / std::pow(length, options_.length_penalty);
  finished_.push_back({std::move(hypothesis), score});
}

int32_t Hypotheses::settled_pieces() const {
  if (done()) return static_cast<int32_t>(chunk_.pieces.size());
  return options_.beam == 1 ? live_[0].state.piece : 0;
}

DecodedPiece Hypotheses::SettledPiece(int32_t index) const {
  return PiecesOf(done() ? finished_.front().hypothesis : live_[0])[index];
}

std::vector<std::vector<DecodedPiece>> Hypotheses::Results() const {
  std::vector<std::vector<DecodedPiece>> results;
  for (const Finished& finished : finished_) {
    if (static_cast<int32_t>(results.size()) == options_.n_best) break;
    results.push_back(PiecesOf(finished.hypothesis));
  }
  return results;
}

std::vector<DecodedPiece> Hypotheses::PiecesOf(const Hypothesis& hypothesis) const {
  std::vector<DecodedPiece> pieces(1);
  for (const DecodedToken& token : hypothesis.tokens) {
    pieces.back().score += token.log_probability;
    if (token.token == config_.tokens.end) break;
    if (token.token == config_.tokens.separator) {
      pieces.emplace_back();
    } else {
      pieces.back().tokens.push_back(token);
    }
  }
  for (const int32_t piece : hypothesis.limited) pieces[piece].length_limited = true;
  return pieces;
}

}  // namespace salient

#include "engine/decode/hypotheses.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace salient {

Hypotheses::Hypotheses(const Chunk& chunk, const ResolvedOptions& options, const ModelConfig& config)
    : chunk_(chunk), options_(options), config_(config), live_(1) {}

void Hypotheses::TakeToken(const RowResult& result) {
  const Candidate& candidate = result.candidates[0];
  if (!CanBe(candidate)) return Fail();
  const BeamChoice choice{TotalWith(live_[0].total, candidate), 0, candidate};
  const Hypothesis extended = Extend(live_[0], choice, result, 0);
  ++step_;
  if (candidate.token == config_.tokens.end) {
    live_.clear();
    return Finish(extended);
  }
  live_[0] = extended;
}

void Hypotheses::TakeStep(std::span<const RowResult> results) {
  if (options_.beam == 1) return TakeToken(results[0]);
  const std::vector<BeamChoice> choices = Choices(results);
  if (choices.empty()) return Fail();
  std::vector<Hypothesis> next;
  for (size_t rank = 0; rank < choices.size() && static_cast<int32_t>(next.size()) < options_.beam; ++rank) {
    const BeamChoice& choice = choices[rank];
    const bool ends = choice.candidate.token == config_.tokens.end;
    if (IsDropped(ends, static_cast<int32_t>(rank), options_.beam)) continue;
    const auto slot = static_cast<int32_t>(next.size());
    const Hypothesis extended = Extend(live_[choice.parent], choice, results[choice.parent], slot);
    if (ends) {
      Finish(extended);
    } else {
      next.push_back(extended);
    }
  }
  ++step_;
  SALIENT_DCHECK(!next.empty() || finished() > 0);
  live_ = std::move(next);
  if (finished() >= options_.beam) live_.clear();
  if (!done()) return;
  std::stable_sort(finished_.begin(), finished_.end(),
                   [](const Finished& a, const Finished& b) { return a.score > b.score; });
}

std::vector<BeamChoice> Hypotheses::Choices(std::span<const RowResult> results) const {
  std::vector<BeamChoice> choices;
  for (int32_t i = 0; i < static_cast<int32_t>(live_.size()); ++i) {
    if (!CanBe(results[i].candidates[0])) return {};
    for (const Candidate& candidate : results[i].candidates) {
      if (!CanBe(candidate)) break;
      choices.push_back({TotalWith(live_[i].total, candidate), i, candidate});
    }
  }
  if (options_.no_repeat > 0) LeaveOutRepeats(choices);
  std::sort(choices.begin(), choices.end(), Before);
  return choices;
}

void Hypotheses::LeaveOutRepeats(std::vector<BeamChoice>& choices) const {
  std::vector<std::vector<int32_t>> repeating;
  for (const Hypothesis& hypothesis : live_) repeating.push_back(Repeating(hypothesis));
  const auto repeats = [&](const BeamChoice& choice) {
    const std::vector<int32_t>& found = repeating[choice.parent];
    return std::find(found.begin(), found.end(), choice.candidate.token) != found.end();
  };
  if (!std::all_of(choices.begin(), choices.end(), repeats)) std::erase_if(choices, repeats);
}

std::vector<int32_t> Hypotheses::Repeating(const Hypothesis& hypothesis) const {
  std::vector<int32_t> back;  // the piece's tokens, from the last one back
  const auto is_in_piece = [&](int32_t at) { return at >= 0 && written_[at].piece == hypothesis.state.piece; };
  for (int32_t at = hypothesis.last; is_in_piece(at); at = written_[at].before) {
    back.push_back(written_[at].token.token);
  }
  const auto kept = static_cast<size_t>(options_.no_repeat - 1);  // the last tokens, which another completes
  std::vector<int32_t> found;
  for (size_t i = 0; i + kept < back.size(); ++i) {
    if (std::equal(back.begin(), back.begin() + kept, back.begin() + i + 1)) found.push_back(back[i]);
  }
  return found;
}

Hypothesis Hypotheses::Extend(const Hypothesis& parent, const BeamChoice& choice, const RowResult& result,
                              int32_t slot) {
  const Candidate& candidate = choice.candidate;
  const SearchState& state = parent.state;
  const bool closes = candidate.token == config_.tokens.separator || candidate.token == config_.tokens.end;
  const bool full = state.offset() >= script_.pieces[state.piece].limit;
  written_.push_back({{candidate.token,
                       result.exit_at,
                       candidate.log_probability,
                       {result.selected.begin(), result.selected.end()},
                       result.aligned},
                      parent.last,
                      slot,
                      state.piece});
  Hypothesis extended{static_cast<int32_t>(written_.size()) - 1, choice.total, After(state, candidate.token),
                      parent.limited};
  if (closes && full) extended.limited.push_back(state.piece);
  return extended;
}

void Hypotheses::Finish(const Hypothesis& hypothesis) {
  const double length = static_cast<double>(hypothesis.state.tokens);
  const double score = hypothesis.total / std::pow(length, options_.length_penalty);
  finished_.push_back({hypothesis, score});
}

void Hypotheses::Fail() {
  failed_ = true;
  live_.clear();
  finished_.clear();
}

void Hypotheses::WriteHistory(const Hypothesis& hypothesis, int32_t* history) const {
  int32_t position = hypothesis.state.tokens;
  for (int32_t at = hypothesis.last; at >= 0; at = written_[at].before, --position) {
    history[position] = KeyPosition(position, options_.beam, written_[at].slot);
  }
  history[0] = KeyPosition(0, options_.beam, 0);
}

int32_t Hypotheses::settled_pieces() const {
  if (failed_) return 0;
  if (done()) return static_cast<int32_t>(chunk_.pieces.size());
  return options_.beam == 1 ? live_[0].state.piece : 0;
}

std::vector<DecodedPiece> Hypotheses::SettledPieces(int32_t first) const {
  const int32_t end = settled_pieces();
  if (first >= end) return {};
  return PiecesOf(done() ? finished_.front().hypothesis : live_[0], first, end);
}

std::vector<std::vector<DecodedPiece>> Hypotheses::Results() const {
  std::vector<std::vector<DecodedPiece>> results;
  for (const Finished& finished : finished_) {
    if (static_cast<int32_t>(results.size()) == options_.n_best) break;
    results.push_back(PiecesOf(finished.hypothesis, 0, static_cast<int32_t>(chunk_.pieces.size())));
  }
  return results;
}

// Pieces [first, end). Walks back only over the tokens since piece `first`.
std::vector<DecodedPiece> Hypotheses::PiecesOf(const Hypothesis& hypothesis, int32_t first, int32_t end) const {
  std::vector<int32_t> tokens;
  for (int32_t at = hypothesis.last; at >= 0 && written_[at].piece >= first; at = written_[at].before) {
    if (written_[at].piece < end) tokens.push_back(at);
  }
  std::reverse(tokens.begin(), tokens.end());
  std::vector<DecodedPiece> pieces(end - first);
  for (const int32_t at : tokens) {
    DecodedPiece& piece = pieces[written_[at].piece - first];
    const DecodedToken& token = written_[at].token;
    piece.score += token.log_probability;
    if (token.token != config_.tokens.end && token.token != config_.tokens.separator) piece.tokens.push_back(token);
  }
  for (const int32_t piece : hypothesis.limited) {
    if (piece >= first && piece < end) pieces[piece - first].length_limited = true;
  }
  return pieces;
}

}  // namespace salient

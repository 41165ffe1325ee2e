// The state of a chunk's search: its live hypotheses, and those that have ended. Greedy search is a beam of one.
//
// Beam search of width B: the 2B best tokens of every live hypothesis form a pool, ordered by total log probability
// (ties: earlier hypothesis, lower token). Those that end the chunk and rank among the first B are finished, with
// score total / length^penalty; the others, best first, are the next B live ones. The search stops when B are finished
// or none is live. The order of choices is defined in engine/search/rules.h, which kernels share.
//
// Knows tokens and positions; knows no rows, pages or kernels. Not thread safe.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/config.h"
#include "engine/options/resolve.h"
#include "engine/search/rules.h"
#include "engine/text/chunk.h"

namespace salient {

struct DecodedToken {
  int32_t token = 0;
  int32_t exit_at = 0;
  float log_probability = 0;
  std::vector<int32_t> selected;  // with trace: source positions that the first cross group chose; empty for all
};

// The translation of one piece of a chunk.
struct DecodedPiece {
  std::vector<DecodedToken> tokens;  // without the separator or end that closes it
  double score = 0;                  // sum of log probabilities, the closing token's included
  bool length_limited = false;
};

struct Hypothesis {
  std::vector<DecodedToken> tokens;
  std::vector<int32_t> history;  // beam > 1: positions of its own keys, ascending, the next step's included
  double total = 0;              // log probability
  SearchState state;
  std::vector<int32_t> limited;  // pieces that were closed for their length
};

// What a step found for one hypothesis. The views must live until the call that takes it returns.
struct RowResult {
  int32_t exit_at = 0;
  std::span<const Candidate> candidates;  // best first; ends early at a negative token
  std::span<const int32_t> selected;      // with trace
};

class Hypotheses {
 public:
  // One live hypothesis without tokens. `chunk`, `options`, `config` and what `script` points to must outlive it.
  Hypotheses(const Chunk& chunk, const ResolvedOptions& options, const ModelConfig& config);

  // The script that the translation must keep to. Before the first step.
  void SetScript(const Script& script) { script_ = script; }
  const Script& script() const { return script_; }

  // Result i belongs to live hypothesis i.
  void TakeStep(std::span<const RowResult> results);
  // The same in greedy search, where there is only one.
  void TakeToken(const RowResult& result);

  const std::vector<Hypothesis>& live() const { return live_; }
  bool done() const { return live_.empty(); }
  int32_t finished() const { return static_cast<int32_t>(finished_.size()); }
  int32_t step() const { return step_; }  // tokens of each live hypothesis
  // The tokens of the best translation. After done().
  const std::vector<DecodedToken>& BestTokens() const { return finished_.front().hypothesis.tokens; }

  // Pieces whose translation is settled while the rest is still decoded; greedy search only, else none until the end.
  int32_t settled_pieces() const;
  DecodedPiece SettledPiece(int32_t index) const;
  // After done(): the best translations, best first, at most n_best, each as the chunk's pieces.
  std::vector<std::vector<DecodedPiece>> Results() const;

  SearchState After(const SearchState& state, int32_t token) const {
    return salient::After(state, token, config_.tokens);
  }

 private:
  struct Finished {
    Hypothesis hypothesis;
    double score = 0;
  };

  Hypothesis Extend(Hypothesis parent, const BeamChoice& choice, const RowResult& result) const;
  void Finish(Hypothesis hypothesis);
  std::vector<DecodedPiece> PiecesOf(const Hypothesis& hypothesis) const;

  const Chunk& chunk_;
  const ResolvedOptions& options_;
  const ModelConfig& config_;
  Script script_;
  std::vector<Hypothesis> live_;
  std::vector<Finished> finished_;  // best first, once done
  int32_t step_ = 0;
};

}  // namespace salient

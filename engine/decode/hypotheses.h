// The state of a chunk's search: its live hypotheses, and those that have ended. Greedy search is a beam of one.
//
// Beam search of width B: the 2B best tokens of every live hypothesis form a pool, ordered by total log probability
// (ties: earlier hypothesis, lower token). Those that end the chunk and rank among the first B are finished, with
// score total / length^penalty; the others, best first, are the next B live ones. The search stops when B are finished
// or none is live. The order of choices is defined in engine/search/rules.h, which kernels share.
//
// Tokens are written once, into a list that only grows; a hypothesis names its last one, and each token the one before
// it. So hypotheses share their beginnings, a step appends a token a hypothesis, and nothing is copied.
//
// Knows tokens and positions; knows no rows, pages or kernels. Not thread safe.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/result.h"
#include "engine/model/config.h"
#include "engine/options/resolve.h"
#include "engine/search/rules.h"
#include "engine/text/chunk.h"

namespace salient {

struct DecodedToken {
  int32_t token = 0;
  int32_t exit_at = 0;
  float log_probability = 0;
  // With trace: source positions of the chunk that the first cross group chose, kMaxTracedKeys of them at most, evenly
  // spread; empty for all.
  std::vector<int32_t> selected;
  int32_t aligned = -1;  // where asked: the chunk's source token that it was made of; -1: not known
};

// The translation of one piece of a chunk.
struct DecodedPiece {
  std::vector<DecodedToken> tokens;  // without the separator or end that closes it
  double score = 0;                  // sum of log probabilities, the closing token's included
  bool length_limited = false;
};

struct Hypothesis {
  int32_t last = -1;  // of the tokens written; none yet
  double total = 0;   // log probability
  SearchState state;
  std::vector<int32_t> limited;  // pieces that were closed for their length
};

// What a step found for one hypothesis. The views must live until the call that takes it returns.
struct RowResult {
  int32_t exit_at = 0;
  std::span<const Candidate> candidates;  // best first; ends early at a negative token
  std::span<const int32_t> selected;      // with trace
  int32_t aligned = -1;                   // as DecodedToken's
};

class Hypotheses {
 public:
  // One live hypothesis without tokens. `chunk`, `options`, `config` and what `script` points to must outlive it.
  Hypotheses(const Chunk& chunk, const ResolvedOptions& options, const ModelConfig& config);

  // The script that the translation must keep to. Before the first step.
  void SetScript(const Script& script) {
    script_ = script;
    live_[0].state.markers = MarkersOf(script, 0);
  }
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
  template <typename Visit>
  void ForEachBestToken(Visit visit) const {
    for (int32_t at = finished_.front().hypothesis.last; at >= 0; at = written_[at].before) visit(written_[at].token);
  }
  // A live hypothesis's last token; BEGIN before the first.
  int32_t LastToken(const Hypothesis& hypothesis) const {
    return hypothesis.last < 0 ? config_.tokens.begin : written_[hypothesis.last].token.token;
  }
  // The positions of a live hypothesis's own keys, ascending, the next step's included: step() + 1 of them.
  void WriteHistory(const Hypothesis& hypothesis, int32_t* history) const;
  // The model gave no token that can be: its scores are not numbers. The search is done() and has no results.
  bool failed() const { return failed_; }

  // Pieces whose translation is settled while the rest is still decoded; greedy search only, else none until the end.
  int32_t settled_pieces() const;
  // Those from `first` on.
  std::vector<DecodedPiece> SettledPieces(int32_t first) const;
  // After done(): the best translations, best first, at most n_best, each as the chunk's pieces.
  std::vector<std::vector<DecodedPiece>> Results() const;

  SearchState After(const SearchState& state, int32_t token) const {
    return salient::After(state, token, script_, config_.tokens);
  }

 private:
  struct Finished {
    Hypothesis hypothesis;
    double score = 0;
  };

  struct Written {
    DecodedToken token;
    int32_t before = -1;
    int32_t slot = 0;   // of the hypothesis that it made, among the live ones
    int32_t piece = 0;  // that it belongs to, or closes
  };

  Hypothesis Extend(const Hypothesis& parent, const BeamChoice& choice, const RowResult& result, int32_t slot);
  void Finish(const Hypothesis& hypothesis);
  void Fail();
  std::vector<DecodedPiece> PiecesOf(const Hypothesis& hypothesis, int32_t first, int32_t end) const;

  const Chunk& chunk_;
  const ResolvedOptions& options_;
  const ModelConfig& config_;
  Script script_;
  std::vector<Written> written_;
  std::vector<Hypothesis> live_;
  std::vector<Finished> finished_;  // best first, once done
  int32_t step_ = 0;
  bool failed_ = false;
};

}  // namespace salient

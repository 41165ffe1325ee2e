// The state of a chunk's search: its live hypotheses, and those that have ended. Greedy search is a beam of one.
//
// Beam search of width B: the 2B best tokens of every live hypothesis form a pool, ordered by total log probability
// (ties: earlier hypothesis, lower token). Those that end the chunk and rank among the first B are finished, with
// score total / length^penalty; the others, best first, are the next B live ones. The search stops when B are finished
// or none is live. The order of choices is defined in engine/search/rules.h, which kernels share.
//
// Tokens are appended to a list and never changed. A hypothesis has the index of its last token, and each token the
// index of the previous one. So hypotheses share common prefixes, a step appends one token for each hypothesis, and
// nothing is copied.
//
// This class handles tokens and positions, not rows, pages or kernels. Not thread safe.

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
  // With trace: source positions of the chunk that the first cross group selected, at most kMaxTracedKeys, evenly
  // spaced; empty: all.
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
  int32_t last = -1;  // index of its last token; -1: none
  double total = 0;   // log probability
  SearchState state;
  std::vector<int32_t> limited;  // pieces that were closed at their length limit
};

// The result of a step for one hypothesis. The spans must stay valid until the call that takes it returns.
struct RowResult {
  int32_t exit_at = 0;
  std::span<const Candidate> candidates;  // best first; ends early at a negative token
  std::span<const int32_t> selected;      // with trace
  int32_t aligned = -1;                   // as DecodedToken's
};

class Hypotheses {
 public:
  // Starts with one live hypothesis without tokens. `chunk`, `options`, `config` and the data of the script must
  // outlive it.
  Hypotheses(const Chunk& chunk, const ResolvedOptions& options, const ModelConfig& config);

  // Sets the script, the constraints on the translation (engine/search). Call it before the first step.
  void SetScript(const Script& script) {
    script_ = script;
    live_[0].state.markers = MarkersOf(script, 0);
  }

  // Result i belongs to live hypothesis i.
  void TakeStep(std::span<const RowResult> results);
  // TakeStep for greedy search, with its one hypothesis.
  void TakeToken(const RowResult& result);

  const std::vector<Hypothesis>& live() const { return live_; }
  bool done() const { return live_.empty(); }
  int32_t finished() const { return static_cast<int32_t>(finished_.size()); }
  int32_t step() const { return step_; }  // number of tokens of each live hypothesis
  // The tokens of the best translation. After done().
  template <typename Visit>
  void ForEachBestToken(Visit visit) const {
    for (int32_t at = finished_.front().hypothesis.last; at >= 0; at = written_[at].before) visit(written_[at].token);
  }
  // A live hypothesis's last token; BEGIN before the first.
  int32_t LastToken(const Hypothesis& hypothesis) const {
    return hypothesis.last < 0 ? config_.tokens.begin : written_[hypothesis.last].token.token;
  }
  // Writes the positions of a live hypothesis's own keys, ascending, including the next step's: step() + 1 positions.
  void WriteHistory(const Hypothesis& hypothesis, int32_t* history) const;
  // True if the model's scores are not numbers, so that no token can be chosen. The search is done() and has no
  // results.
  bool failed() const { return failed_; }

  // Number of pieces whose translation is final while the rest is still decoded; with a beam, 0 until the end.
  int32_t settled_pieces() const;
  // The settled pieces from index `first` on.
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

  // The possible continuations of the live hypotheses, best first; empty if the scores of one are not numbers.
  std::vector<BeamChoice> Choices(std::span<const RowResult> results) const;
  // Unless all of them repeat.
  void LeaveOutRepeats(std::vector<BeamChoice>& choices) const;
  // The tokens that would complete a sequence of options_.no_repeat tokens that the hypothesis's piece has already.
  std::vector<int32_t> Repeating(const Hypothesis& hypothesis) const;
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

// How a translation continues after a token: which tokens may follow, and which hypotheses of a beam are kept. Plain
// data and constexpr functions, shared by the host (engine/decode/hypotheses.h) and by kernels (advance.h).

#pragma once

#include <cstdint>
#include <limits>

#include "engine/search/candidates.h"

namespace salient {

inline constexpr int32_t kMaxBeam = 16;

// Sets of markers (SpecialTokens): bit m is marker m.
struct MarkerState {
  uint32_t missing = 0;  // of the piece that is translated: those that its translation still lacks
  int32_t depth = 0;     // pairs that are open
  uint64_t open = 0;     // which: four bits a pair, the innermost lowest

  constexpr int32_t Innermost() const { return 2 * static_cast<int32_t>(open & 15) + 1; }  // what closes it
};

// Where a translation stands.
struct SearchState {
  int32_t tokens = 0;       // that it has
  int32_t piece = 0;        // which piece of its chunk it is translating
  int32_t piece_start = 0;  // index of that piece's first token
  MarkerState markers;

  constexpr int32_t offset() const { return tokens - piece_start; }
};

struct ScriptPiece {
  int32_t limit = 0;                            // target tokens after which the piece is closed, markers among them
  int32_t source_start = 0, source_length = 0;  // its source tokens, with what closes them, if anything
  uint32_t markers = 0;                         // that its source has: no more than the limit
  uint32_t closing = 0;                         // those of them that close a pair; the one before opens it
};

// The hypotheses of a chunk that has several, where a device makes its steps: which rows are theirs, and what the
// choice among them needs beside their rows. The live ones are the first.
struct Beam {
  int32_t width = 1;  // how many at most
  int32_t finished = 0;
  int32_t rows[kMaxBeam] = {};
  double total[kMaxBeam] = {};  // log probability
  // [2][width][most_steps] the positions of each one's own keys, ascending. Those that step s reads are in half s % 2.
  int32_t* histories = nullptr;
  int32_t most_steps = 0;

  constexpr int64_t HistoryAt(int32_t step, int32_t hypothesis) const {
    return (static_cast<int64_t>(step % 2) * width + hypothesis) * most_steps;
  }
  constexpr int32_t* History(int32_t step, int32_t hypothesis) const { return histories + HistoryAt(step, hypothesis); }
};

// What a chunk's translation must keep to: unchanged while the chunk is decoded.
struct Script {
  const ScriptPiece* pieces = nullptr;
  const int32_t* prefix = nullptr;  // the tokens that the translation must begin with
  int32_t piece_count = 0, prefix_count = 0;
  Beam* beam = nullptr;  // null: greedy search
  bool aligns = false;   // Align is asked for its rows
};

// The markers of a piece before its first token.
constexpr MarkerState MarkersOf(const Script& script, int32_t piece) {
  return piece < script.piece_count ? MarkerState{script.pieces[piece].markers} : MarkerState{};
}

constexpr MarkerState AfterMarker(MarkerState state, int32_t marker, uint32_t closing) {
  const uint32_t bit = uint32_t{1} << marker;
  if ((state.missing & bit) == 0) return state;
  const bool innermost = state.depth > 0 && state.Innermost() == marker;
  if ((closing & bit) != 0 && !innermost) return state;  // only a forced prefix can hold it; it counts for nothing
  state.missing &= ~bit;
  if ((closing & bit) != 0) {
    state.open >>= 4;
    --state.depth;
  } else if (marker + 1 < kMaxMarkers && marker % 2 == 0 && (closing & bit << 1) != 0) {
    state.open = state.open << 4 | static_cast<uint64_t>(marker / 2);
    ++state.depth;
  }
  return state;
}

// The markers that may come next: each once, and of pairs the innermost is closed first.
constexpr uint32_t NextMarkers(const MarkerState& state, uint32_t closing) {
  const uint32_t closes = state.depth > 0 ? uint32_t{1} << state.Innermost() : 0;
  return state.missing & (~closing | closes);
}

constexpr int32_t CountBits(uint32_t bits) {
  int32_t count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

constexpr int32_t LowestBit(uint32_t bits) {
  int32_t lowest = 0;
  for (; (bits >> lowest & 1) == 0; ++lowest) {
  }
  return lowest;
}

constexpr SearchState After(const SearchState& state, int32_t token, const Script& script,
                            const SpecialTokens& special) {
  if (token == special.separator) {
    return {state.tokens + 1, state.piece + 1, state.tokens + 1, MarkersOf(script, state.piece + 1)};
  }
  SearchState after = {state.tokens + 1, state.piece, state.piece_start, state.markers};
  if (const int32_t marker = special.MarkerOf(token); marker >= 0 && state.markers.missing != 0) {
    after.markers = AfterMarker(state.markers, marker, script.pieces[state.piece].closing);
  }
  return after;
}

// The marker that comes next where no other text does.
constexpr int32_t NextMarker(const MarkerState& state, uint32_t closing) {
  return state.depth > 0 ? state.Innermost() : LowestBit(NextMarkers(state, closing));
}

// What the token at `state` may be. A piece is not closed before it has all its markers, for which room is kept. Where
// the model would close it, a marker comes instead.
constexpr TokenConstraint ConstraintAt(const SearchState& state, const Script& script, const SpecialTokens& special) {
  TokenConstraint constraint;
  const ScriptPiece& piece = script.pieces[state.piece];
  const uint32_t missing = state.markers.missing;
  const bool last = state.piece + 1 == script.piece_count;
  if (state.tokens < script.prefix_count) {
    constraint.forced = script.prefix[state.tokens];
  } else if (state.offset() + CountBits(missing) < piece.limit) {
    constraint.allow_separator = !last && missing == 0;
    constraint.allow_end = last && missing == 0;
    constraint.markers = missing == 0 ? 0 : NextMarkers(state.markers, piece.closing);
    if (missing != 0) constraint.stand_in = special.first_marker + NextMarker(state.markers, piece.closing);
  } else if (missing == 0) {
    constraint.forced = last ? special.end : special.separator;
  } else {
    constraint.forced = special.first_marker + NextMarker(state.markers, piece.closing);
  }
  return constraint;
}

// The source token beside which a translation stands: where windows of selection are centred.
constexpr int32_t SourceCentre(const SearchState& state, const Script& script) {
  const ScriptPiece& piece = script.pieces[state.piece];
  const int32_t offset = state.offset(), last = piece.source_length - 1;
  return piece.source_start + (offset < last ? offset : last);
}

// Where hypothesis `index` of a beam keeps the keys of a step.
constexpr int32_t KeyPosition(int32_t step, int32_t beam, int32_t index) { return step * beam + index; }

// How many best tokens of each hypothesis are considered.
constexpr int32_t CandidatesWanted(int32_t beam) { return beam == 1 ? 1 : 2 * beam; }

// A hypothesis, by its number, and the token that would follow.
struct BeamChoice {
  double total = 0;  // log probability
  int32_t parent = 0;
  Candidate candidate;
};

// A score of NaN or infinity leaves no valid candidate: no token, or no finite probability.
constexpr bool CanBe(const Candidate& candidate) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return candidate.token >= 0 && candidate.log_probability >= -kMost && candidate.log_probability <= kMost;
}

constexpr double TotalWith(double total, const Candidate& candidate) {
  return total + static_cast<double>(candidate.log_probability);
}

// The order in which choices are taken.
constexpr bool Before(const BeamChoice& a, const BeamChoice& b) {
  if (a.total != b.total) return a.total > b.total;
  if (a.parent != b.parent) return a.parent < b.parent;
  return a.candidate.token < b.candidate.token;
}

// Whether a choice of that rank, from 0, neither ends a translation nor goes on: ends must rank within the beam.
constexpr bool IsDropped(bool ends, int32_t rank, int32_t beam) { return ends && rank >= beam; }

// Ranks that are looked at until a beam has its next hypotheses: no more than `beam` choices are ends, one a parent.
constexpr int32_t MostRanks(int32_t beam) { return 2 * beam; }

}  // namespace salient

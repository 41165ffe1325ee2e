#include "engine/search/advance.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace salient {
namespace {

// The possible continuations of a beam's live hypotheses, best first.
std::vector<BeamChoice> Choices(const AdvanceArgs& args, const Beam& beam, int32_t live) {
  std::vector<BeamChoice> choices;
  for (int32_t i = 0; i < live; ++i) {
    const Candidate* candidates = args.candidates + static_cast<size_t>(beam.rows[i]) * args.width;
    for (int32_t c = 0; c < CandidatesWanted(beam.width) && CanBe(candidates[c]); ++c) {
      choices.push_back({TotalWith(beam.total[i], candidates[c]), i, candidates[c]});
    }
  }
  std::sort(choices.begin(), choices.end(), Before);
  return choices;
}

// The choices that continue a hypothesis; `beam` counts those that end one.
std::vector<BeamChoice> Next(const std::vector<BeamChoice>& choices, int32_t end, Beam& beam) {
  std::vector<BeamChoice> next;
  for (size_t rank = 0; rank < choices.size() && static_cast<int32_t>(next.size()) < beam.width; ++rank) {
    const bool ends = choices[rank].candidate.token == end;
    if (IsDropped(ends, static_cast<int32_t>(rank), beam.width)) continue;
    if (ends) {
      ++beam.finished;
    } else {
      next.push_back(choices[rank]);
    }
  }
  if (beam.finished >= beam.width) next.clear();
  return next;
}

void AdvanceBeam(const AdvanceArgs& args, Beam& beam) {
  std::vector<SearchState> states;
  for (int32_t i = 0; i < beam.width && args.goes_on[beam.rows[i]] != 0; ++i) {
    states.push_back(args.StateOf(beam.rows[i]));
  }
  if (states.empty()) return;
  const int32_t step = states[0].tokens;
  const std::vector<BeamChoice> next =
      Next(Choices(args, beam, static_cast<int32_t>(states.size())), args.special.end, beam);
  for (int32_t i = 0; i < beam.width; ++i) {
    const int32_t row = beam.rows[i];
    args.goes_on[row] = i < static_cast<int32_t>(next.size());
    if (args.goes_on[row] == 0) continue;
    const BeamChoice& choice = next[i];
    const int32_t* read = beam.History(step, choice.parent);
    int32_t* history = beam.History(step + 1, i);
    const int32_t position = KeyPosition(step + 1, beam.width, i);
    *std::copy(read, read + step + 1, history) = position;
    beam.total[i] = choice.total;
    WriteNext(args, row, After(states[choice.parent], choice.candidate.token, *args.scripts[row], args.special),
              choice.candidate.token, position, history);
  }
}

void Record(const AdvanceArgs& args) {
  for (int32_t i = 0; i < *args.count; ++i) {
    const int32_t row = args.rows[i];
    std::copy_n(args.candidates + static_cast<size_t>(row) * args.width, args.width,
                args.records.CandidatesOf(*args.record_step, row, args.width));
    RecordRow(args, row, *args.record_step);
  }
  ++*args.record_step;
}

}  // namespace

void MergeNewRows(const MergeNewRowsArgs& args) {
  *args.count = 0;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const Beginning begins = args.begins[row];
    for (const RowField* field = args.fields; field < args.fields + args.field_count; ++field) {
      const size_t at = field->at + static_cast<size_t>(row) * field->bytes;
      if (field->always || begins != Beginning::kNone) std::memcpy(args.kept + at, args.given + at, field->bytes);
    }
    if (begins != Beginning::kNone) {
      args.self_tally[row] = args.cross_tally[row] = AttentionTally{};
      args.fills[row] = 0;
      args.aligned[row] = -1;
      args.goes_on[row] = begins == Beginning::kNow;
    }
    if (args.goes_on[row] != 0) args.taking_part[(*args.count)++] = row;
  }
  *args.record_step = args.first_record;
}

void Advance(const AdvanceArgs& args) {
  Record(args);
  for (int32_t i = 0; i < args.scheduled.size(); ++i) {
    const int32_t row = args.scheduled[i];
    Beam* beam = args.scripts[row]->beam;
    if (beam != nullptr && beam->rows[0] == row) AdvanceBeam(args, *beam);
    if (beam == nullptr && args.goes_on[row] != 0) args.goes_on[row] = AdvanceGreedy(args, row);
  }
  *args.count = 0;
  for (int32_t i = 0; i < args.scheduled.size(); ++i) {
    if (args.goes_on[args.scheduled[i]] != 0) args.rows[(*args.count)++] = args.scheduled[i];
  }
}

}  // namespace salient

#include "engine/decode/sequence.h"

#include <algorithm>

#include "engine/api/result.h"
#include "engine/base/check.h"
#include "engine/decode/demand.h"

namespace salient {

Sequence::Sequence(const Chunk& chunk, const ResolvedOptions& options, const std::vector<int32_t>& prefix,
                   const ModelConfig& config, Backend& backend, KvStore& self_store, KvStore& cross_store,
                   const std::vector<int32_t>& tokens)
    : chunk_(chunk),
      options_(options),
      config_(config),
      exit_rule_(options.exit),
      hypotheses_(chunk, options, config),
      arrays_(chunk, options, prefix, config, backend, self_store, cross_store, tokens),
      meter_(config, options, static_cast<int32_t>(chunk.tokens.size()), static_cast<int32_t>(tokens.size())) {
  hypotheses_.SetScript(arrays_.script());
}

EncoderInput Sequence::ForEncoder() {
  return {chunk_.tokens, arrays_.cross_pages(), options_.selection[static_cast<int>(Module::kEncoder)], &exit_rule_,
          &encoder_tally_};
}

int32_t Sequence::deepest() const {
  const bool fixed = exit_rule_.policy == DepthPolicy::kFixed;
  return fixed ? std::min(exit_rule_.at, exit_rule_.greatest) : exit_rule_.greatest;
}

void Sequence::MarkEncoded() {
  arrays_.SetDeepest(deepest());
  encoded_ = true;
  meter_.AddEncoding(encoder_tally_);
}

int32_t Sequence::rows_wanted() const { return RowsWanted(options_); }

int32_t Sequence::SelfPagesFor(int32_t steps) const {
  const int64_t positions =
      std::min<int64_t>(hypotheses_.step() + steps + options_.draft_tokens, MaxSteps(chunk_, options_));
  return KvStore::PagesFor(positions * options_.beam);
}

// ---- Before a step ----

void Sequence::BeginStep(int32_t steps) {
  const int64_t left = MaxSteps(chunk_, options_) - hypotheses_.step();
  drafts_.Begin(static_cast<int32_t>(std::min<int64_t>(options_.draft_tokens, left - 1)));
  arrays_.GrowTo(SelfPagesFor(steps));
  selected_.assign(assigned_rows_.size(), {});
}

void Sequence::Prepare(DecoderRows& rows, std::vector<int32_t>& may_take_part) {
  BeginStep(1);
  ahead_ = false;
  for (int32_t i = 0; i < static_cast<int32_t>(hypotheses_.live().size()); ++i) {
    const Hypothesis& hypothesis = hypotheses_.live()[i];
    const int32_t token = hypotheses_.LastToken(hypothesis);
    WriteRow(rows, i, hypothesis.state, token, StageHistory(i));
    rows.begins.data()[assigned_rows_[i]] = Beginning::kNow;
    may_take_part.push_back(assigned_rows_[i]);
  }
  WriteDrafts(rows, may_take_part);
}

// The device may use all rows of a beam later, so the rows without a hypothesis yet are written like the first.
void Sequence::PrepareAhead(DecoderRows& rows, std::vector<int32_t>& may_take_part, int32_t steps) {
  BeginStep(steps);
  const bool device_is_further = ahead_;
  ahead_ = true;
  const auto live = static_cast<int32_t>(hypotheses_.live().size());
  for (int32_t i = 0; i < options_.beam; ++i) {
    const Hypothesis& hypothesis = hypotheses_.live()[i < live ? i : 0];
    const int32_t token = hypotheses_.LastToken(hypothesis);
    WriteRow(rows, i, hypothesis.state, token, i < live && !device_is_further ? StageHistory(i) : nullptr);
    rows.begins.data()[assigned_rows_[i]] = device_is_further ? Beginning::kNone
                                            : i < live        ? Beginning::kNow
                                                              : Beginning::kLater;
    may_take_part.push_back(assigned_rows_[i]);
  }
  if (!device_is_further) arrays_.StageBeam(hypotheses_, assigned_rows_);
}

// Prepares the rows for drafts. Their tokens are not known yet, but the number of keys that they see is.
void Sequence::WriteDrafts(DecoderRows& rows, std::vector<int32_t>& may_take_part) {
  for (int32_t i = 1; i <= drafts_.most(); ++i) {
    SearchState state = hypotheses_.live()[0].state;
    state.tokens += i;
    WriteRow(rows, i, state, config_.tokens.begin, nullptr);
    may_take_part.push_back(assigned_rows_[i]);
  }
}

void Sequence::WriteRow(DecoderRows& rows, int32_t slot, const SearchState& state, int32_t token,
                        const int32_t* history) {
  SALIENT_CHECK(slot < static_cast<int32_t>(assigned_rows_.size()));
  arrays_.WriteRow(rows, {.row = assigned_rows_[slot],
                          .slot = slot,
                          .state = state,
                          .token = token,
                          .history = history,
                          .exit_rule = &exit_rule_});
  WriteTokens(rows, slot, options_.shortlist);
}

void Sequence::WriteTokens(DecoderRows& rows, int32_t slot, bool listed) {
  arrays_.WriteTokens(rows, assigned_rows_[slot], listed, classifier_.get());
}

const int32_t* Sequence::StageHistory(int32_t index) { return arrays_.StageHistory(hypotheses_, index); }

// ---- Drafts ----

const SearchState& Sequence::StateAfterDrafts() const {
  return drafts_.count() == 0 ? hypotheses_.live()[0].state : drafts_.last().after;
}

// Writes the row that follows the last draft. Without drafts, Prepare has written it.
void Sequence::WriteAfterDrafts(DecoderRows& rows) {
  if (drafts_.count() > 0) WriteRow(rows, drafts_.count(), drafts_.last().after, drafts_.last().token, nullptr);
}

void Sequence::PrepareDraft(DecoderRows& rows, std::vector<int32_t>& drafting) {
  if (!drafts_.open()) return;
  WriteAfterDrafts(rows);
  const int32_t row = assigned_rows_[drafts_.count()];
  rows.exit_rule.data()[row] = options_.draft_exit;
  WriteTokens(rows, drafts_.count(), /*listed=*/true);
  drafting.push_back(row);
}

void Sequence::TakeDraft(const DecoderRows& rows) {
  if (!drafts_.open()) return;
  const int32_t row = assigned_rows_[drafts_.count()];
  Candidate draft = rows.candidates.data()[row];
  // Scores that are no numbers: full depth never chooses this token, and nothing is drafted after it.
  if (draft.token < 0) draft.token = config_.tokens.unknown;
  const bool forced = rows.constraint.data()[row].forced >= 0;
  drafts_.Add(draft, forced, hypotheses_.After(StateAfterDrafts(), draft.token), config_.tokens.end);
}

void Sequence::AppendRows(DecoderRows& rows, std::vector<int32_t>& taking_part) {
  const int32_t drafts = drafts_.count();
  const int32_t count = drafts == 0 ? static_cast<int32_t>(hypotheses_.live().size()) : drafts_.RowsToVerify();
  if (count > drafts) WriteAfterDrafts(rows);
  for (int32_t slot = 0; slot < drafts; ++slot) {
    rows.exit_rule.data()[assigned_rows_[slot]] = exit_rule_;
    WriteTokens(rows, slot, options_.shortlist);
    rows.held_at.data()[assigned_rows_[slot]] = options_.draft_exit.at;
  }
  taking_part.insert(taking_part.end(), assigned_rows_.begin(), assigned_rows_.begin() + count);
}

// ---- After a step ----

void Sequence::RecordSelected(int32_t row, const KeyList& list) {
  const auto slot = std::find(assigned_rows_.begin(), assigned_rows_.end(), row);
  if (slot == assigned_rows_.end() || list.count == kEveryKey) return;
  std::vector<int32_t>& traced = selected_[slot - assigned_rows_.begin()];
  const int64_t count = std::min<int64_t>(list.count, kMaxTracedKeys);
  traced.clear();
  for (int64_t i = 0; i < count; ++i) traced.push_back(list.positions[i * list.count / count]);
}

RowResult Sequence::ResultOf(const DecoderRows& rows, int32_t slot, int32_t width) const {
  const int32_t row = assigned_rows_[slot];
  const Candidate* candidates = rows.candidates.data() + static_cast<size_t>(row) * width;
  // Kernels take the step's `width` best tokens, the widest beam's, before three of them become one: the end, the
  // separator and the marker that stands in for both. If choices are left out for what they repeat, a beam must not
  // reach what a step of its own width may lack.
  const bool may_lack = options_.no_repeat > 0 && rows.constraint.data()[row].stand_in >= 0;
  const int32_t count = candidates_wanted() - (may_lack ? 2 : 0);
  return {
      rows.exit_at.data()[row], {candidates, static_cast<size_t>(count)}, selected_[slot], rows.aligned.data()[row]};
}

void Sequence::TakeStep(const DecoderRows& rows, int32_t width) {
  if (drafts_.count() > 0) {
    TakeVerified(rows, width);
  } else {
    std::vector<RowResult> results;
    for (int32_t slot = 0; slot < static_cast<int32_t>(hypotheses_.live().size()); ++slot) {
      meter_.AddRow(rows, assigned_rows_[slot], hypotheses_.step(), /*drafted=*/false, /*kept=*/true);
      results.push_back(ResultOf(rows, slot, width));
    }
    hypotheses_.TakeStep(results);
  }
  if (!done() || failed()) return;
  hypotheses_.ForEachBestToken([this](const DecodedToken& token) { meter_.meter().AddExit(token.exit_at); });
}

// Takes the drafts that full depth agrees with, and the token that it chooses after them.
void Sequence::TakeVerified(const DecoderRows& rows, int32_t width) {
  const int32_t first = hypotheses_.step();
  int32_t accepted = 0;
  bool agrees = true;
  for (int32_t slot = 0; slot < drafts_.RowsToVerify(); ++slot) {
    meter_.AddRow(rows, assigned_rows_[slot], first + slot, /*drafted=*/slot < drafts_.count(), /*kept=*/agrees);
    if (!agrees) continue;
    const RowResult result = ResultOf(rows, slot, width);
    hypotheses_.TakeToken(result);
    if (hypotheses_.failed()) break;
    agrees = drafts_.Agrees(slot, result.candidates[0].token);
    accepted += agrees;
  }
  meter_.meter().AddDrafts(drafts_.count(), accepted);
}

}  // namespace salient

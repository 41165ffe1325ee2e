#include "engine/decode/sequence.h"

#include <algorithm>
#include <cmath>

namespace salient {
namespace {

// Drafting ends with a draft that is less probable than this: what would follow it is rarely of use.
const float kLeastLogProbability = std::log(0.5f);

}  // namespace

int32_t Sequence::LengthLimit(const Piece& piece, const ResolvedOptions& options) {
  return static_cast<int32_t>(options.max_length_ratio * piece.tokens) + kSegmentSlack;
}

int64_t Sequence::MaxSteps(const Chunk& chunk, const ResolvedOptions& options) {
  int64_t steps = 0;
  for (const Piece& piece : chunk.pieces) steps += LengthLimit(piece, options) + 1;  // and what closes it
  return steps;
}

int32_t Sequence::RowsWanted(const ResolvedOptions& options) { return options.beam + options.draft_tokens; }

int32_t Sequence::SelfPages(const Chunk& chunk, const ResolvedOptions& options) {
  return KvStore::PagesFor(MaxSteps(chunk, options) * options.beam);
}

// Few translations have a quarter more tokens than their source.
int32_t Sequence::ExpectedPages(const Chunk& chunk, const ResolvedOptions& options) {
  int64_t steps = 0;
  for (const Piece& piece : chunk.pieces) {
    steps += std::min(LengthLimit(piece, options), piece.tokens + piece.tokens / 4) + 1;
  }
  return KvStore::PagesFor(steps * options.beam);
}

int32_t Sequence::CrossPages(const Chunk& chunk) {
  return KvStore::PagesFor(static_cast<int64_t>(chunk.tokens.size()));
}

Sequence::Sequence(const Chunk& chunk, const ResolvedOptions& options, std::vector<int32_t> prefix,
                   const ModelConfig& config, Backend& backend, KvStore& self_store, KvStore& cross_store,
                   const std::vector<int32_t>& tokens)
    : chunk_(chunk),
      options_(options),
      prefix_(std::move(prefix)),
      config_(config),
      self_store_(self_store),
      cross_store_(cross_store),
      exit_rule_(options.exit),
      staging_(backend.memory()),
      self_pages_(staging_, SelfPages(chunk, options)),
      cross_pages_(staging_, CrossPages(chunk)),
      beam_(staging_, options.beam > 1 ? 1 : 0),
      histories_(staging_, options.beam > 1 ? 2 * options.beam * MaxSteps(chunk, options) : 0),
      exit_of_(staging_, static_cast<size_t>(SelfPages(chunk, options)) * kPagePositions),
      filled_to_(staging_, config.decoder.layers),
      ledger_(staging_, 1),
      pieces_(staging_, chunk.pieces.size()),
      forced_(staging_, prefix_.size()),
      script_(staging_, 1),
      tokens_(staging_, tokens.size()),
      token_list_(staging_, 1),
      live_(1),
      meter_(config) {
  staging_.Allocate();
  std::fill_n(exit_of_.data(), exit_of_.size(), kNoExit);
  *ledger_.data() = {exit_of_.device(), filled_to_.device(), options.beam};
  for (int32_t page = 0; page < CrossPages(chunk); ++page) {
    taken_cross_.push_back(cross_store_.Take());
    cross_pages_.data()[page] = taken_cross_.back();
  }
  int32_t start = 0;
  for (size_t p = 0; p < chunk.pieces.size(); ++p) {
    const int32_t tokens_and_close = chunk.pieces[p].tokens + 1;
    pieces_.data()[p] = {LengthLimit(chunk.pieces[p], options), start, tokens_and_close};
    start += tokens_and_close;
  }
  std::copy(prefix_.begin(), prefix_.end(), forced_.data());
  host_script_ = {pieces_.data(), forced_.data(), static_cast<int32_t>(pieces_.size()),
                  static_cast<int32_t>(prefix_.size())};
  *script_.data() = host_script_;
  script_.data()->pieces = pieces_.device();
  script_.data()->prefix = forced_.device();
  if (options.beam > 1) {
    script_.data()->beam = beam_.device();
    *beam_.data() = {.width = options.beam,
                     .histories = histories_.device(),
                     .most_steps = static_cast<int32_t>(MaxSteps(chunk, options))};
    live_[0].history.push_back(KeyPosition(0, options.beam, 0));
  }
  std::copy(tokens.begin(), tokens.end(), tokens_.data());
  *token_list_.data() = {tokens_.device(), static_cast<int32_t>(tokens_.size())};
  staging_.Upload();
}

Sequence::~Sequence() {
  self_store_.Return(taken_self_);
  cross_store_.Return(taken_cross_);
}

EncoderInput Sequence::ForEncoder() {
  return {chunk_.tokens,
          {cross_pages_.device(), cross_pages_.size()},
          options_.selection[static_cast<int>(Module::kEncoder)],
          &exit_rule_,
          &encoder_tally_};
}

int32_t Sequence::deepest() const {
  const bool fixed = exit_rule_.kind == ExitKind::kAt;
  return fixed ? std::min(exit_rule_.at, exit_rule_.greatest) : exit_rule_.greatest;
}

void Sequence::MarkEncoded() {
  ledger_.data()->deepest = deepest();
  ledger_.Upload(0, 1);
  encoded_ = true;
  meter_.AddEncoding(static_cast<int32_t>(chunk_.tokens.size()), options_.exit.greatest, encoder_tally_);
}

int64_t Sequence::kv_bytes() const {
  return static_cast<int64_t>(taken_self_.size() * self_store_.layout().page_bytes() +
                              taken_cross_.size() * cross_store_.layout().page_bytes());
}

int32_t Sequence::SelfPagesFor(int32_t steps) const {
  const int64_t positions = std::min<int64_t>(step_ + steps + options_.draft_tokens, MaxSteps(chunk_, options_));
  return KvStore::PagesFor(positions * options_.beam);
}

// The pages of this step's positions: a document grows into them, nothing that is written ever moves.
void Sequence::TakePages(int32_t steps) {
  const int32_t pages = SelfPagesFor(steps);
  while (static_cast<int32_t>(taken_self_.size()) < pages) {
    const size_t index = taken_self_.size();
    taken_self_.push_back(self_store_.Take());
    self_pages_.data()[index] = taken_self_.back();
    self_pages_.Upload(index, 1);
  }
}

// A live hypothesis's positions where kernels find them.
const int32_t* Sequence::StageHistory(int32_t index) {
  if (options_.beam == 1) return nullptr;
  const std::vector<int32_t>& history = live_[index].history;
  const int64_t first = beam_.data()->HistoryAt(step_, index);
  std::copy(history.begin(), history.end(), histories_.data() + first);
  histories_.Upload(first, history.size());
  return histories_.device() + first;
}

// What a device needs to go on with several hypotheses.
void Sequence::StageBeam() {
  if (options_.beam == 1) return;
  Beam& beam = *beam_.data();
  beam.finished = static_cast<int32_t>(finished_.size());
  std::copy_n(assigned_rows_.begin(), options_.beam, beam.rows);
  for (size_t i = 0; i < live_.size(); ++i) beam.total[i] = live_[i].total;
  beam_.Upload(0, 1);
}

void Sequence::Prepare(DecoderRows& rows, std::vector<int32_t>& may_take_part, int32_t steps, bool ahead) {
  const int64_t left = MaxSteps(chunk_, options_) - step_;
  max_drafts_ = static_cast<int32_t>(std::min<int64_t>(options_.draft_tokens, left - 1));
  drafting_ = max_drafts_ > 0;
  drafts_.clear();
  TakePages(steps);
  selected_.assign(assigned_rows_.size(), {});
  const bool device_is_further = ahead && ahead_;
  ahead_ = ahead;
  // Where the device goes on by itself it may come to use all rows of a beam: those that wait are staged like the
  // first.
  const auto live = static_cast<int32_t>(live_.size());
  for (int32_t i = 0; i < (ahead ? options_.beam : live); ++i) {
    const Hypothesis& hypothesis = live_[i < live ? i : 0];
    const int32_t token = hypothesis.tokens.empty() ? config_.tokens.begin : hypothesis.tokens.back().token;
    Stage(rows, i, hypothesis.state, token, i < live && !device_is_further ? StageHistory(i) : nullptr);
    rows.begins.data()[assigned_rows_[i]] = device_is_further ? Beginning::kNone
                                            : i < live        ? Beginning::kNow
                                                              : Beginning::kLater;
    may_take_part.push_back(assigned_rows_[i]);
  }
  if (ahead && !device_is_further) StageBeam();
  // Whichever tokens will stand there, so many keys the drafts' rows can see.
  for (int32_t i = 1; i <= max_drafts_; ++i) {
    SearchState state = live_[0].state;
    state.tokens += i;
    Stage(rows, i, state, config_.tokens.begin, nullptr);
    may_take_part.push_back(assigned_rows_[i]);
  }
}

// Writes the row in which the token after `token` is decoded, at `state`.
void Sequence::Stage(DecoderRows& rows, int32_t slot, const SearchState& state, int32_t token, const int32_t* history) {
  const int32_t row = assigned_rows_[slot], step = state.tokens;
  rows.token.data()[row] = token;
  rows.step.data()[row] = step;
  rows.offset.data()[row] = state.offset();  // 0 where the input token opens a segment: BOS, or a separator
  rows.segment.data()[row] = state.piece;
  rows.position.data()[row] = options_.beam == 1 ? step : KeyPosition(step, options_.beam, slot);
  rows.self_view.data()[row] = {self_pages_.device(), history, step + 1, step};
  rows.cross_view.data()[row] = {cross_pages_.device(), nullptr, static_cast<int32_t>(chunk_.tokens.size()),
                                 SourceCentre(state, host_script_)};
  for (size_t g = 0; g < rows.self_rule.size(); ++g) {
    rows.self_rule[g].data()[row] = options_.selection[static_cast<int>(Module::kDecoder)][g];
  }
  for (size_t g = 0; g < rows.cross_rule.size(); ++g) {
    rows.cross_rule[g].data()[row] = options_.selection[static_cast<int>(Module::kCross)][g];
  }
  rows.exit_rule.data()[row] = exit_rule_;
  rows.held_at.data()[row] = 0;
  rows.script.data()[row] = script_.device();
  rows.ledger.data()[row] = ledger_.device();
  rows.constraint.data()[row] = ConstraintAt(state, host_script_, config_.tokens);
  StageTokens(rows, row, options_.shortlist);
  rows.self_tally.data()[row] = {};
  rows.cross_tally.data()[row] = {};
  rows.fills.data()[row] = 0;
}

// What the row may say: what is listed, or anything. And what it may leave by.
void Sequence::StageTokens(DecoderRows& rows, int32_t row, bool listed) {
  const TokenList* list = tokens_.size() > 0 ? token_list_.device() : nullptr;
  rows.tokens.data()[row] = listed ? list : nullptr;
  rows.screen.data()[row] = list;
  rows.own_classifier[row] = classifier_.get();
}

// The row after the last draft.
void Sequence::StageNext(DecoderRows& rows) {
  if (drafts_.empty()) return;  // Prepare has written it
  Stage(rows, static_cast<int32_t>(drafts_.size()), drafts_.back().after, drafts_.back().token, nullptr);
}

void Sequence::PrepareDraft(DecoderRows& rows, std::vector<int32_t>& drafting) {
  if (!drafting_) return;
  StageNext(rows);
  const int32_t row = assigned_rows_[drafts_.size()];
  rows.exit_rule.data()[row] = options_.draft_exit;
  StageTokens(rows, row, /*listed=*/true);
  drafting.push_back(row);
}

void Sequence::TakeDraft(const DecoderRows& rows) {
  if (!drafting_) return;
  const int32_t row = assigned_rows_[drafts_.size()];
  const Candidate& draft = rows.candidates.data()[row];
  const bool sure = rows.constraint.data()[row].forced >= 0 || draft.log_probability >= kLeastLogProbability;
  const SearchState& state = drafts_.empty() ? live_[0].state : drafts_.back().after;
  drafts_.push_back({draft.token, After(state, draft.token)});
  drafting_ = sure && draft.token != config_.tokens.end && static_cast<int32_t>(drafts_.size()) < max_drafts_;
}

// After the end nothing follows.
int32_t Sequence::RowsTakingPart() const {
  const auto drafts = static_cast<int32_t>(drafts_.size());
  if (drafts == 0) return static_cast<int32_t>(live_.size());
  return drafts_.back().token == config_.tokens.end ? drafts : drafts + 1;
}

void Sequence::TakePart(DecoderRows& rows, std::vector<int32_t>& taking_part) {
  const int32_t drafts = static_cast<int32_t>(drafts_.size()), count = RowsTakingPart();
  if (count > drafts) StageNext(rows);
  for (int32_t slot = 0; slot < drafts; ++slot) {
    rows.exit_rule.data()[assigned_rows_[slot]] = exit_rule_;
    StageTokens(rows, assigned_rows_[slot], options_.shortlist);
    rows.held_at.data()[assigned_rows_[slot]] = options_.draft_exit.at;
  }
  taking_part.insert(taking_part.end(), assigned_rows_.begin(), assigned_rows_.begin() + count);
}

void Sequence::RecordSelected(int32_t row, const KeyList& list) {
  const auto slot = std::find(assigned_rows_.begin(), assigned_rows_.end(), row);
  if (slot == assigned_rows_.end() || list.count == kEveryKey) return;
  selected_[slot - assigned_rows_.begin()].assign(list.positions, list.positions + list.count);
}

void Sequence::CountRow(const DecoderRows& rows, int32_t slot, int32_t step, bool kept) {
  const int32_t row = assigned_rows_[slot];
  const bool drafted = slot < static_cast<int32_t>(drafts_.size());
  meter_.AddRow({.step = step,
                 .source_tokens = static_cast<int32_t>(chunk_.tokens.size()),
                 .exit_at = rows.exit_at.data()[row],
                 .fills = rows.fills.data()[row],
                 .outputs = Outputs(options_.shortlist) + (drafted ? Outputs(true) : 0),
                 .compared = Outputs(true),
                 .kept = kept,
                 .self = rows.self_tally.data()[row],
                 .cross = rows.cross_tally.data()[row]},
                options_.exit);
}

void Sequence::TakeStep(const DecoderRows& rows, int32_t width) {
  if (!drafts_.empty()) return TakeVerified(rows, width);
  std::vector<BeamChoice> pool;
  for (int32_t i = 0; i < static_cast<int32_t>(live_.size()); ++i) {
    CountRow(rows, i, step_, true);
    const Candidate* candidates = rows.candidates.data() + static_cast<size_t>(assigned_rows_[i]) * width;
    for (int32_t c = 0; c < candidates_wanted() && candidates[c].token >= 0; ++c) {
      pool.push_back({TotalWith(live_[i].total, candidates[c]), i, candidates[c]});
    }
  }
  std::sort(pool.begin(), pool.end(), Before);
  std::vector<Hypothesis> next;
  for (size_t rank = 0; rank < pool.size() && static_cast<int32_t>(next.size()) < options_.beam; ++rank) {
    const BeamChoice& choice = pool[rank];
    const bool ends = choice.candidate.token == config_.tokens.end;
    if (IsDropped(ends, static_cast<int32_t>(rank), options_.beam)) continue;
    const int32_t exit_at = rows.exit_at.data()[assigned_rows_[choice.parent]];
    Hypothesis extended = Extend(live_[choice.parent], choice, exit_at, choice.parent);
    if (!ends) {
      const auto index = static_cast<int32_t>(next.size());
      if (options_.beam > 1) extended.history.push_back(KeyPosition(step_ + 1, options_.beam, index));
      next.push_back(std::move(extended));
      continue;
    }
    Finish(std::move(extended));
    if (options_.beam == 1) break;
  }
  ++step_;
  live_ = std::move(next);
  if (static_cast<int32_t>(finished_.size()) >= options_.beam) live_.clear();
  if (done()) RecordEnd();
}

// The drafts that full depth agrees with, and its own choice after them.
void Sequence::TakeVerified(const DecoderRows& rows, int32_t width) {
  const auto drafts = static_cast<int32_t>(drafts_.size());
  const int32_t first = step_;
  int32_t accepted = 0;
  bool agrees = true;
  for (int32_t slot = 0; slot < RowsTakingPart(); ++slot) {
    CountRow(rows, slot, first + slot, agrees);
    if (!agrees) continue;
    const int32_t row = assigned_rows_[slot];
    const Candidate& candidate = rows.candidates.data()[static_cast<size_t>(row) * width];
    const BeamChoice choice{TotalWith(live_[0].total, candidate), 0, candidate};
    live_[0] = Extend(std::move(live_[0]), choice, rows.exit_at.data()[row], slot);
    ++step_;
    agrees = slot < drafts && candidate.token == drafts_[slot].token;
    accepted += agrees;
  }
  meter_.AddDrafts(drafts, accepted);
  if (live_[0].tokens.back().token != config_.tokens.end) return;
  Finish(std::move(live_[0]));
  live_.clear();
  RecordEnd();
}

Sequence::Hypothesis Sequence::Extend(Hypothesis parent, const BeamChoice& choice, int32_t exit_at,
                                      int32_t slot) const {
  const Candidate& candidate = choice.candidate;
  const SearchState& state = parent.state;
  parent.tokens.push_back({candidate.token, exit_at, candidate.log_probability, selected_[slot]});
  parent.total = choice.total;
  const bool closes = candidate.token == config_.tokens.separator || candidate.token == config_.tokens.end;
  if (closes && IsFull(state)) parent.limited.push_back(state.piece);
  parent.state = After(state, candidate.token);
  return parent;
}

void Sequence::Finish(Hypothesis hypothesis) {
  const double length = static_cast<double>(hypothesis.tokens.size());
  const double score = hypothesis.total / std::pow(length, options_.length_penalty);
  finished_.push_back({std::move(hypothesis), score});
}

void Sequence::RecordEnd() {
  std::stable_sort(finished_.begin(), finished_.end(),
                   [](const Finished& a, const Finished& b) { return a.score > b.score; });
  for (const DecodedToken& token : finished_.front().hypothesis.tokens) meter_.AddExit(token.exit_at);
}

int32_t Sequence::settled_pieces() const {
  if (done()) return static_cast<int32_t>(chunk_.pieces.size());
  return options_.beam == 1 ? live_[0].state.piece : 0;
}

DecodedPiece Sequence::SettledPiece(int32_t index) const {
  return PiecesOf(done() ? finished_.front().hypothesis : live_[0])[index];
}

std::vector<std::vector<DecodedPiece>> Sequence::Results() const {
  std::vector<std::vector<DecodedPiece>> results;
  for (const Finished& finished : finished_) {
    if (static_cast<int32_t>(results.size()) == options_.n_best) break;
    results.push_back(PiecesOf(finished.hypothesis));
  }
  return results;
}

std::vector<DecodedPiece> Sequence::PiecesOf(const Hypothesis& hypothesis) const {
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

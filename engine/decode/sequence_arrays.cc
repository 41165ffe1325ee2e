#include "engine/decode/sequence_arrays.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/decode/demand.h"

namespace salient {

SequenceArrays::SequenceArrays(const Chunk& chunk, const ResolvedOptions& options, const std::vector<int32_t>& prefix,
                               const ModelConfig& config, Backend& backend, KvStore& self_store, KvStore& cross_store,
                               const std::vector<int32_t>& tokens)
    : chunk_(chunk),
      options_(options),
      config_(config),
      staging_(backend.memory()),
      self_pages_(self_store, staging_, SelfPages(chunk, options)),
      cross_pages_(cross_store, staging_, CrossPages(chunk)),
      beam_(staging_, options.beam > 1 ? 1 : 0),
      histories_(staging_, options.beam > 1 ? 2 * options.beam * MaxSteps(chunk, options) : 0),
      exit_of_(staging_, static_cast<size_t>(SelfPages(chunk, options)) * kPagePositions),
      filled_to_(staging_, config.decoder.layers),
      ledger_(staging_, 1),
      pieces_(staging_, chunk.pieces.size()),
      forced_(staging_, prefix.size()),
      script_(staging_, 1),
      tokens_(staging_, tokens.size()),
      token_list_(staging_, 1) {
  staging_.Allocate();
  std::fill_n(exit_of_.data(), exit_of_.size(), kNoExit);
  *ledger_.data() = {exit_of_.device(), filled_to_.device(), options.beam};
  cross_pages_.GrowTo(cross_pages_.most());
  int32_t start = 0;
  for (size_t p = 0; p < chunk.pieces.size(); ++p) {
    const int32_t end = std::min(start + chunk.pieces[p].tokens + 1, static_cast<int32_t>(chunk.tokens.size()));
    pieces_.data()[p] = {LengthLimit(chunk.pieces[p], options), start, end - start, chunk.pieces[p].markers,
                         chunk.pieces[p].closing};
    start = end;
  }
  std::copy(prefix.begin(), prefix.end(), forced_.data());
  host_script_ = {.pieces = pieces_.data(),
                  .prefix = forced_.data(),
                  .piece_count = static_cast<int32_t>(pieces_.size()),
                  .prefix_count = static_cast<int32_t>(prefix.size()),
                  .aligns = options.alignment};
  *script_.data() = host_script_;
  script_.data()->pieces = pieces_.device();
  script_.data()->prefix = forced_.device();
  if (options.beam > 1) {
    script_.data()->beam = beam_.device();
    *beam_.data() = {.width = options.beam,
                     .histories = histories_.device(),
                     .most_steps = static_cast<int32_t>(MaxSteps(chunk, options))};
  }
  std::copy(tokens.begin(), tokens.end(), tokens_.data());
  *token_list_.data() = {tokens_.device(), static_cast<int32_t>(tokens_.size())};
  staging_.Upload();
}

void SequenceArrays::SetDeepest(int32_t layers) {
  ledger_.data()->deepest = layers;
  ledger_.Upload(0, 1);
}

const int32_t* SequenceArrays::StageHistory(const Hypotheses& hypotheses, int32_t index) {
  if (options_.beam == 1) return nullptr;
  SALIENT_CHECK(index < options_.beam && hypotheses.step() < beam_.data()->most_steps);
  const int64_t first = beam_.data()->HistoryAt(hypotheses.step(), index);
  hypotheses.WriteHistory(hypotheses.live()[index], histories_.data() + first);
  histories_.Upload(first, hypotheses.step() + 1);
  return histories_.device() + first;
}

void SequenceArrays::StageBeam(const Hypotheses& hypotheses, std::span<const int32_t> assigned_rows) {
  if (options_.beam == 1) return;
  SALIENT_CHECK(options_.beam <= kMaxBeam && hypotheses.live().size() <= static_cast<size_t>(options_.beam) &&
                assigned_rows.size() >= static_cast<size_t>(options_.beam));
  Beam& beam = *beam_.data();
  beam.finished = hypotheses.finished();
  std::copy_n(assigned_rows.begin(), options_.beam, beam.rows);
  for (size_t i = 0; i < hypotheses.live().size(); ++i) beam.total[i] = hypotheses.live()[i].total;
  beam_.Upload(0, 1);
}

void SequenceArrays::WriteRow(DecoderRows& rows, const Row& at) const {
  const SearchState& state = at.state;
  const int32_t row = at.row, step = state.tokens;
  SALIENT_CHECK(row >= 0 && row < static_cast<int32_t>(rows.token.size()));
  SALIENT_CHECK(state.piece < host_script_.piece_count);
  rows.token.data()[row] = at.token;
  rows.step.data()[row] = step;
  rows.offset.data()[row] = state.offset();  // 0 where the input token begins a segment: BOS, or a separator
  rows.segment.data()[row] = state.piece;
  rows.position.data()[row] = options_.beam == 1 ? step : KeyPosition(step, options_.beam, at.slot);
  rows.self_view.data()[row] = {self_pages_.device(), at.history, step + 1, step};
  rows.cross_view.data()[row] = {cross_pages_.device(), nullptr, static_cast<int32_t>(chunk_.tokens.size()),
                                 SourceCentre(state, host_script_)};
  for (size_t g = 0; g < rows.self_rule.size(); ++g) {
    rows.self_rule[g].data()[row] = options_.selection[static_cast<int>(Module::kDecoder)][g];
  }
  for (size_t g = 0; g < rows.cross_rule.size(); ++g) {
    rows.cross_rule[g].data()[row] = options_.selection[static_cast<int>(Module::kCross)][g];
  }
  rows.exit_rule.data()[row] = *at.exit_rule;
  rows.held_at.data()[row] = 0;
  rows.script.data()[row] = script_.device();
  rows.ledger.data()[row] = ledger_.device();
  rows.constraint.data()[row] = ConstraintAt(state, host_script_, config_.tokens);
  rows.markers.data()[row] = state.markers;
  rows.self_tally.data()[row] = {};
  rows.cross_tally.data()[row] = {};
  rows.fills.data()[row] = 0;
  rows.aligned.data()[row] = -1;
  rows.aligns[row] = options_.alignment ? 1 : 0;
}

void SequenceArrays::WriteTokens(DecoderRows& rows, int32_t row, bool listed,
                                 const PackedLinear* own_classifier) const {
  const TokenList* list = tokens_.size() > 0 ? token_list_.device() : nullptr;
  rows.tokens.data()[row] = listed ? list : nullptr;
  rows.screen.data()[row] = list;
  rows.own_classifier[row] = own_classifier;
}

}  // namespace salient

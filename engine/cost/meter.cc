#include "engine/cost/meter.h"

#include <algorithm>

namespace salient {
namespace {

AttentionTally& Of(std::array<AttentionTally, kModules>& tally, Module module) {
  return tally[static_cast<int>(module)];
}

}  // namespace

Meter::Meter(const ModelConfig& config) : config_(&config), exits_(config.decoder.layers, 0) {}

void Meter::AddEncoding(int32_t source_tokens, int32_t cross_layers, const AttentionTally& tally) {
  Of(tally_, Module::kEncoder) += tally;
  const int64_t n = source_tokens;
  dense_ += n * n * config_->encoder.layers;
  const double d = config_->d_model;
  flops_ += cross_layers * 4.0 * n * d * d;  // the first-call term: cross-attention K and V of the source
  full_flops_ += config_->decoder.layers * 4.0 * n * d * d;
}

void Meter::AddRow(const RowCost& row, const ExitRule& rule) {
  const ModelConfig& config = *config_;
  Of(tally_, Module::kDecoder) += row.self;
  Of(tally_, Module::kCross) += row.cross;

  const double d = config.d_model;
  const double ffn = config.decoder.ffn == FeedForwardKind::kNone ? 0 : config.decoder.ffn_width;
  const double layer = (config.recurs() ? 8 : 12) * d * d + 4 * ffn * d;
  double selection = 0;
  if (config.has_selection) {
    const double ds = config.selection.width;
    const auto groups_run = [&](Module module) {
      if (config.groups(module) == 0) return 0;
      return (row.exit_at + config.group_size(module) - 1) / config.group_size(module);
    };
    selection = 4 * d * ds * groups_run(Module::kDecoder) + 2 * d * ds * groups_run(Module::kCross) +
                2 * ds * static_cast<double>(row.self.scored + row.cross.scored);
  }
  flops_ += row.exit_at * layer + 4 * d * static_cast<double>(row.self.attended + row.cross.attended) + selection +
            row.fills * 4 * d * d + 2.0 * ExitOutputs(rule, row.exit_at, config.decoder.layers, row.compared) * d +
            2.0 * row.outputs * d;
  if (!row.kept) return;
  const int64_t visible = (config.recurs() ? 0 : row.step + 1) + row.source_tokens;
  dense_ += visible * config.decoder.layers;
  full_flops_ += config.decoder.layers * (layer + 4 * d * static_cast<double>(visible)) + 2.0 * config.vocab_size * d;
}

void Meter::AddStep(int32_t documents) {
  ++steps_;
  documents_in_steps_ += documents;
  peak_documents_ = std::max(peak_documents_, documents);
}

void Meter::AddDrafts(int32_t drafted, int32_t accepted) {
  drafted_ += drafted;
  accepted_ += accepted;
}

void Meter::Merge(const Meter& other) {
  for (int m = 0; m < kModules; ++m) tally_[m] += other.tally_[m];
  dense_ += other.dense_;
  for (size_t n = 0; n < exits_.size(); ++n) exits_[n] += other.exits_[n];
  flops_ += other.flops_;
  full_flops_ += other.full_flops_;
  drafted_ += other.drafted_;
  accepted_ += other.accepted_;
  steps_ += other.steps_;
  documents_in_steps_ += other.documents_in_steps_;
  peak_documents_ = std::max(peak_documents_, other.peak_documents_);
}

CostReport Meter::Report() const {
  CostReport report;
  report.exit_histogram = exits_;
  int64_t tokens = 0, layers = 0;
  for (size_t n = 0; n < exits_.size(); ++n) {
    tokens += exits_[n];
    layers += exits_[n] * static_cast<int64_t>(n + 1);
  }
  report.target_tokens = static_cast<int32_t>(tokens);
  if (tokens > 0) report.mean_exit = static_cast<double>(layers) / tokens;

  double attended = 0, executed = 0, scored = 0;
  for (int m = 0; m < kModules; ++m) {
    attended += tally_[m].attended;
    executed += tally_[m].executed;
    scored += tally_[m].scored;
    if (tally_[m].visible > 0) {
      report.keys_selected_ratio[m] = static_cast<double>(tally_[m].attended) / tally_[m].visible;
    }
  }
  if (dense_ > 0) {
    // Eq. 9 and 10 in multiply-adds with counted keys: 2 d a key read, ds a key scored.
    const double d = config_->d_model, ds = config_->selection.width;
    const double dense = 2 * d * static_cast<double>(dense_);
    report.dense_attention = dense;
    report.attention_cost_ratio = (2 * d * attended + ds * scored) / dense;
    report.attention_executed_ratio = (2 * d * executed + ds * scored) / dense;
  }
  if (drafted_ > 0) report.draft_acceptance = static_cast<double>(accepted_) / static_cast<double>(drafted_);
  report.decoder_flops = flops_;
  report.decoder_flops_full_depth = full_flops_;
  if (steps_ > 0) report.mean_documents_per_step = static_cast<double>(documents_in_steps_) / steps_;
  report.peak_documents_per_step = peak_documents_;
  return report;
}

}  // namespace salient

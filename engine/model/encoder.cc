#include "engine/model/encoder.h"

#include <algorithm>

namespace salient {
namespace {

KvLayout ScratchLayout(const Model& model, Backend& backend) {
  const ModelConfig& config = model.config;
  return {.layers = 1,
          .width = config.d_model,
          .groups = config.has_selection ? 1 : 0,
          .selection_width = config.selection.width,
          .type = backend.kv_type()};
}

}  // namespace

SourcePositions PositionsOf(std::span<const int32_t> tokens, int32_t separator) {
  SourcePositions made;
  int32_t segment = 0, offset = 0;
  for (const int32_t token : tokens) {
    made.segment.push_back(segment);
    made.offset.push_back(offset++);
    if (token == separator) {
      ++segment;
      offset = 0;
    }
  }
  return made;
}

Encoder::Encoder(const Model& model, Backend& backend, int32_t max_tokens, int32_t max_windows)
    : model_(model),
      config_(model.config),
      backend_(backend),
      block_(model, backend, max_tokens, model.config.encoder.ffn_width),
      scratch_(backend.memory(), ScratchLayout(model, backend), KvStore::PagesFor(max_tokens) + max_windows),
      arena_(backend),
      tokens_(backend.Array<int32_t>(max_tokens)),
      offset_(backend.Array<int32_t>(max_tokens)),
      segment_(backend.Array<int32_t>(max_tokens)),
      position_(backend.Array<int32_t>(max_tokens)),
      views_(backend.Array<KeyView>(max_tokens)),
      cross_views_(backend.Array<KeyView>(max_tokens)),
      lists_(backend.Array<KeyList>(max_tokens)),
      tallies_(backend.Array<AttentionTally>(max_tokens)),
      chosen_(backend.Array<int32_t>(max_tokens)),
      states_(backend.Array<float>(static_cast<size_t>(max_tokens) * model.config.d_model)),
      output_(backend.Array<float>(static_cast<size_t>(max_tokens) * model.config.d_model)),
      mean_(backend.Array<float>(static_cast<size_t>(max_windows) * model.config.d_model)),
      logits_(backend.Array<float>(static_cast<size_t>(max_windows) * model.config.decoder.layers)) {
  for (int32_t g = 0; g < config_.key_groups(Module::kEncoder); ++g) {
    rules_.push_back(backend.Array<SelectionRule>(max_tokens));
  }
}

void Encoder::Encode(std::span<EncoderInput> windows, KvStore& cross_store) {
  Place(windows);
  const Rows all = Rows::First(tokens_count_);
  backend_.Embed({.rows = all,
                  .table = model_.embedding.data(),
                  .tokens = tokens_.data(),
                  .offsets = config_.embedding_position == EmbeddingPosition::kNone         ? nullptr
                             : config_.embedding_position == EmbeddingPosition::kSinusoidal ? position_.data()
                                                                                            : offset_.data(),
                  .width = config_.d_model,
                  .scale = EmbeddingScale(config_),
                  .output = states_.data()});
  for (int32_t layer = 0; layer < config_.encoder.layers; ++layer) {
    SelfAttention(layer);
    block_.FeedForward(states_.data(), all, model_.encoder[layer]);
    if (probe_) probe_(layer, tokens_count_, states_.data());
  }
  const float* normed =
      config_.pre_norm ? block_.Normed(states_.data(), all, model_.encoder_norm, nullptr) : states_.data();
  backend_.GatherRows({all, normed, config_.d_model, output_.data()});
  WriteCross(windows, cross_store);
  DecideSequenceExits(windows);

  int32_t row = 0;
  for (EncoderInput& window : windows) {
    for (size_t i = 0; i < window.tokens.size(); ++i, ++row) {
      const AttentionTally& tally = tallies_.data()[row];
      window.tally->visible += tally.visible;
      window.tally->attended += tally.attended;
      window.tally->executed += tally.executed;
      window.tally->scored += tally.scored;
    }
  }
  for (const std::vector<int32_t>& pages : scratch_pages_) scratch_.Return(pages);
}

// Lays the windows' tokens one after another and says where each stands and what it may see.
void Encoder::Place(std::span<EncoderInput> windows) {
  scratch_pages_.assign(windows.size(), {});
  int32_t row = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const EncoderInput& window = windows[w];
    const int32_t length = static_cast<int32_t>(window.tokens.size());
    for (int32_t page = 0; page < KvStore::PagesFor(length); ++page) scratch_pages_[w].push_back(scratch_.Take());
    const SourcePositions positions = PositionsOf(window.tokens, config_.tokens.separator);
    for (int32_t i = 0; i < length; ++i, ++row) {
      tokens_.data()[row] = window.tokens[i];
      offset_.data()[row] = positions.offset[i];
      segment_.data()[row] = positions.segment[i];
      position_.data()[row] = i;
      views_.data()[row] = KeyView{scratch_pages_[w].data(), nullptr, length, i};
      cross_views_.data()[row] = KeyView{window.cross_pages.data(), nullptr, length, i};
      tallies_.data()[row] = {};
      for (size_t g = 0; g < rules_.size(); ++g) {
        rules_[g].data()[row] = window.options->selection[static_cast<int>(Module::kEncoder)][g];
      }
    }
  }
  tokens_count_ = row;
}

void Encoder::SelfAttention(int32_t index) {
  const LayerWeights& layer = model_.encoder[index];
  const Rows all = Rows::First(tokens_count_);
  const int32_t* turned = config_.self_rotary ? position_.data() : nullptr;
  const float* input = block_.Input(states_.data(), all, layer.self_norm);
  backend_.AppendKeyValue({.rows = all,
                           .key_value = block_.KeysAndValues(*layer.self.key_value, input, all, turned),
                           .store = scratch_.pages(),
                           .layer = 0,
                           .views = views_.data(),
                           .positions = position_.data()});
  if (config_.chooses_keys(Module::kEncoder, index)) ChooseKeys(index, input);
  backend_.Attend({.rows = all,
                   .queries = block_.Queries(*layer.self.query, input, all, turned),
                   .heads = config_.heads,
                   .store = scratch_.pages(),
                   .layer = 0,
                   .views = views_.data(),
                   .lists = lists_.data(),
                   .output = block_.attended(),
                   .tallies = tallies_.data()});
  block_.AddTo(states_.data(), all, *layer.self.output, block_.attended(), layer.self_norm);
}

// The keys that this layer and those above it in its group read.
void Encoder::ChooseKeys(int32_t index, const float* input) {
  const Rows all = Rows::First(tokens_count_);
  const int32_t* turned = config_.self_rotary ? position_.data() : nullptr;
  const SelectionRule* rules = rules_[config_.key_group(Module::kEncoder, index)].data();
  arena_.Lay(all, views_.data(), rules, lists_.data());
  SelectArgs select{
      .rows = all, .store = scratch_.pages(), .views = views_.data(), .rules = rules, .lists = lists_.data()};
  if (const SelectionWeights* selection = model_.encoder[index].self_selection.get(); selection != nullptr) {
    backend_.AppendSelection({.rows = all,
                              .keys = block_.SelectionVectors(*selection->key, input, all, turned),
                              .key_inverse_step = selection->key_inverse_step,
                              .store = scratch_.pages(),
                              .group = 0,
                              .views = views_.data(),
                              .positions = position_.data()});
    select.queries = block_.SelectionVectors(*selection->query, input, all, turned);
    select.key_inverse_step = selection->key_inverse_step;
  }
  backend_.Select(select);
  for (int32_t row = 0; row < tokens_count_; ++row) {
    tallies_.data()[row].scored += KeysScored(rules[row], views_.data()[row], lists_.data()[row]);
  }
  if (selection_probe_) selection_probe_(config_.key_group(Module::kEncoder, index), tokens_count_, lists_.data());
}

// Every decoder layer's cross-attention keys and values of the source, once (the first-call term of the FLOP count).
// Layers above a window's greatest exit are never read and so never made.
void Encoder::WriteCross(std::span<EncoderInput> windows, KvStore& cross_store) {
  const int32_t* turned = config_.cross_position == CrossPosition::kSegmentRotary ? segment_.data() : nullptr;
  for (int32_t index = 0; index < config_.decoder.layers; ++index) {
    int32_t count = 0, row = 0;
    for (const EncoderInput& window : windows) {
      for (size_t i = 0; i < window.tokens.size(); ++i, ++row) {
        if (index < window.exit->greatest) chosen_.data()[count++] = row;
      }
    }
    if (count == 0) return;
    const Rows rows{chosen_.data(), nullptr, count};
    backend_.GatherRows({rows, output_.data(), config_.d_model, states_.data()});
    const LayerWeights& layer = model_.decoder[index];
    backend_.AppendKeyValue({.rows = rows,
                             .key_value = block_.KeysAndValues(*layer.cross.key_value, states_.data(), rows, turned),
                             .store = cross_store.pages(),
                             .layer = index,
                             .views = cross_views_.data(),
                             .positions = position_.data()});
    if (layer.cross_selection == nullptr) continue;
    const SelectionWeights& selection = *layer.cross_selection;
    backend_.AppendSelection({.rows = rows,
                              .keys = block_.SelectionVectors(*selection.key, states_.data(), rows, turned),
                              .key_inverse_step = selection.key_inverse_step,
                              .store = cross_store.pages(),
                              .group = index / config_.group_size(Module::kCross),
                              .views = cross_views_.data(),
                              .positions = position_.data()});
  }
}

// q(n|x) = softmax(W_h mean(encoder output) + b_h) (eq. 8): the sequence policy knows its exit before the first token.
void Encoder::DecideSequenceExits(std::span<EncoderInput> windows) {
  if (model_.halting.sequence == nullptr) return;
  const bool wanted = std::any_of(windows.begin(), windows.end(),
                                  [](const EncoderInput& w) { return w.exit->kind == ExitKind::kSequence; });
  if (!wanted) return;
  int32_t first = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const int32_t length = static_cast<int32_t>(windows[w].tokens.size());
    backend_.MeanRows({output_.data() + static_cast<size_t>(first) * config_.d_model, length, config_.d_model,
                       mean_.data() + w * config_.d_model});
    first += length;
  }
  const Rows rows = Rows::First(static_cast<int32_t>(windows.size()));
  backend_.Linear(
      {.weight = model_.halting.sequence.get(), .rows = rows, .input = mean_.data(), .output = logits_.data()});
  std::vector<ExitRule> rules;
  for (const EncoderInput& window : windows) rules.push_back(*window.exit);
  backend_.ResolveExits({.rows = rows,
                         .kind = ExitKind::kSequence,
                         .logits = logits_.data(),
                         .layers = config_.decoder.layers,
                         .rules = rules.data(),
                         .resolved = rules.data()});
  for (size_t w = 0; w < windows.size(); ++w) *windows[w].exit = rules[w];
}

}  // namespace salient

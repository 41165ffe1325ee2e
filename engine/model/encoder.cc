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

std::vector<StagedArray<SelectionRule>> RuleArrays(Staging& staging, int32_t groups, int32_t tokens) {
  std::vector<StagedArray<SelectionRule>> made;
  for (int32_t g = 0; g < groups; ++g) made.emplace_back(staging, tokens);
  return made;
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
      in_(backend),
      out_(backend),
      tokens_(in_, max_tokens),
      offset_(in_, max_tokens),
      segment_(in_, max_tokens),
      position_(in_, max_tokens),
      scratch_pages_(in_, KvStore::PagesFor(max_tokens) + max_windows),
      views_(in_, max_tokens),
      cross_views_(in_, max_tokens),
      rules_(RuleArrays(in_, model.config.key_groups(Module::kEncoder), max_tokens)),
      arena_(backend, in_, max_tokens),
      tallies_(out_, max_tokens),
      chosen_(backend.Array<int32_t>(max_tokens)),
      exits_(backend),
      exit_rules_(exits_, max_windows),
      states_(backend.Array<float>(static_cast<size_t>(max_tokens) * model.config.d_model)),
      output_(backend.Array<float>(static_cast<size_t>(max_tokens) * model.config.d_model)),
      mean_(backend.Array<float>(static_cast<size_t>(max_windows) * model.config.d_model)),
      logits_(backend.Array<float>(static_cast<size_t>(max_windows) * model.config.decoder.layers)),
      copies_(backend) {
  in_.Allocate();
  out_.Allocate();
  exits_.Allocate();
}

void Encoder::Encode(std::span<EncoderInput> windows, KvStore& cross_store) {
  Place(windows);
  in_.Upload();
  out_.Upload();
  const Rows all = Rows::First(tokens_count_);
  backend_.Embed({.rows = all,
                  .table = model_.embedding.data(),
                  .tokens = tokens_.device(),
                  .offsets = config_.embedding_position == EmbeddingPosition::kNone         ? nullptr
                             : config_.embedding_position == EmbeddingPosition::kSinusoidal ? position_.device()
                                                                                            : offset_.device(),
                  .width = config_.d_model,
                  .scale = EmbeddingScale(config_),
                  .output = states_.data()});
  for (int32_t layer = 0; layer < config_.encoder.layers; ++layer) {
    SelfAttention(layer);
    block_.FeedForward(states_.data(), all, model_.encoder[layer]);
    if (probe_) {
      const size_t size = static_cast<size_t>(tokens_count_) * config_.d_model;
      probe_(layer, tokens_count_, copies_.OnHost(states_.data(), size));
    }
  }
  const float* normed =
      config_.pre_norm ? block_.Normed(states_.data(), all, model_.encoder_norm, nullptr) : states_.data();
  backend_.GatherRows({all, normed, config_.d_model, output_.data()});
  WriteCross(windows, cross_store);
  DecideSequenceExits(windows);

  out_.Download();
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
  scratch_.Return(taken_);
}

// Lays the windows' tokens one after another and says where each stands and what it may see.
void Encoder::Place(std::span<EncoderInput> windows) {
  taken_.clear();
  int32_t row = 0;
  for (const EncoderInput& window : windows) {
    const int32_t length = static_cast<int32_t>(window.tokens.size());
    const size_t first_page = taken_.size();
    for (int32_t page = 0; page < KvStore::PagesFor(length); ++page) taken_.push_back(scratch_.Take());
    const int32_t* pages = scratch_pages_.device() + first_page;
    const SourcePositions positions = PositionsOf(window.tokens, config_.tokens.separator);
    for (int32_t i = 0; i < length; ++i, ++row) {
      tokens_.data()[row] = window.tokens[i];
      offset_.data()[row] = positions.offset[i];
      segment_.data()[row] = positions.segment[i];
      position_.data()[row] = i;
      views_.data()[row] = KeyView{pages, nullptr, length, i};
      cross_views_.data()[row] = KeyView{window.cross_pages.data(), nullptr, length, i};
      tallies_.data()[row] = {};
      for (size_t g = 0; g < rules_.size(); ++g) {
        rules_[g].data()[row] = window.options->selection[static_cast<int>(Module::kEncoder)][g];
      }
    }
  }
  std::copy(taken_.begin(), taken_.end(), scratch_pages_.data());
  tokens_count_ = row;
  arena_.Lay(Rows::First(row), views_.data(), rules_);
}

void Encoder::SelfAttention(int32_t index) {
  const LayerWeights& layer = model_.encoder[index];
  const Rows all = Rows::First(tokens_count_);
  const int32_t* turned = config_.self_rotary ? position_.device() : nullptr;
  const float* input = block_.Input(states_.data(), all, layer.self_norm);
  backend_.AppendKeyValue({.rows = all,
                           .key_value = block_.KeysAndValues(*layer.self.key_value, input, all, turned),
                           .store = scratch_.pages(),
                           .layer = 0,
                           .views = views_.device(),
                           .positions = position_.device()});
  if (config_.chooses_keys(Module::kEncoder, index)) ChooseKeys(index, input);
  backend_.Attend({.rows = all,
                   .queries = block_.Queries(*layer.self.query, input, all, turned),
                   .heads = config_.heads,
                   .store = scratch_.pages(),
                   .layer = 0,
                   .views = views_.device(),
                   .lists = arena_.lists(),
                   .output = block_.attended(),
                   .tallies = tallies_.device()});
  block_.AddTo(states_.data(), all, *layer.self.output, block_.attended(), layer.self_norm);
}

// The keys that this layer and those above it in its group read.
void Encoder::ChooseKeys(int32_t index, const float* input) {
  const Rows all = Rows::First(tokens_count_);
  const int32_t* turned = config_.self_rotary ? position_.device() : nullptr;
  const SelectionRule* rules = rules_[config_.key_group(Module::kEncoder, index)].device();
  SelectArgs select{.rows = all,
                    .store = scratch_.pages(),
                    .views = views_.device(),
                    .rules = rules,
                    .lists = arena_.lists(),
                    .tallies = tallies_.device()};
  if (const SelectionWeights* selection = model_.encoder[index].self_selection.get(); selection != nullptr) {
    backend_.AppendSelection({.rows = all,
                              .keys = block_.SelectionVectors(*selection->key, input, all, turned),
                              .key_inverse_step = selection->key_inverse_step,
                              .store = scratch_.pages(),
                              .group = 0,
                              .views = views_.device(),
                              .positions = position_.device()});
    select.queries = block_.SelectionVectors(*selection->query, input, all, turned);
    select.key_inverse_step = selection->key_inverse_step;
  }
  backend_.Select(select);
  if (!selection_probe_) return;
  selection_probe_(config_.key_group(Module::kEncoder, index), tokens_count_,
                   copies_.OnHost(arena_.lists(), tokens_count_, all));
}

// Lists the rows of windows that a decoder layer will read, on the device. Returns whether there are any.
bool Encoder::ChooseNeeding(std::span<EncoderInput> windows, int32_t layer) {
  std::vector<int32_t> needing;
  int32_t row = 0;
  for (const EncoderInput& window : windows) {
    for (size_t i = 0; i < window.tokens.size(); ++i, ++row) {
      if (layer < window.exit->greatest) needing.push_back(row);
    }
  }
  if (layer == 0 || needing.size() != needing_.size()) {
    backend_.memory().CopyToDevice(chosen_.data(), needing.data(), needing.size() * sizeof(int32_t));
  }
  needing_ = std::move(needing);
  return !needing_.empty();
}

// Every decoder layer's cross-attention keys and values of the source, once (the first-call term of the FLOP count).
// Layers above a window's greatest exit are never read and so never made.
void Encoder::WriteCross(std::span<EncoderInput> windows, KvStore& cross_store) {
  const int32_t* turned = config_.cross_position == CrossPosition::kSegmentRotary ? segment_.device() : nullptr;
  for (int32_t index = 0; index < config_.decoder.layers; ++index) {
    if (!ChooseNeeding(windows, index)) return;
    const Rows rows{chosen_.data(), nullptr, static_cast<int32_t>(needing_.size())};
    backend_.GatherRows({rows, output_.data(), config_.d_model, states_.data()});
    const LayerWeights& layer = model_.decoder[index];
    backend_.AppendKeyValue({.rows = rows,
                             .key_value = block_.KeysAndValues(*layer.cross.key_value, states_.data(), rows, turned),
                             .store = cross_store.pages(),
                             .layer = index,
                             .views = cross_views_.device(),
                             .positions = position_.device()});
    if (layer.cross_selection == nullptr) continue;
    const SelectionWeights& selection = *layer.cross_selection;
    backend_.AppendSelection({.rows = rows,
                              .keys = block_.SelectionVectors(*selection.key, states_.data(), rows, turned),
                              .key_inverse_step = selection.key_inverse_step,
                              .store = cross_store.pages(),
                              .group = index / config_.group_size(Module::kCross),
                              .views = cross_views_.device(),
                              .positions = position_.device()});
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
  for (size_t w = 0; w < windows.size(); ++w) exit_rules_.data()[w] = *windows[w].exit;
  exits_.Upload();
  backend_.ResolveExits({.rows = rows,
                         .kind = ExitKind::kSequence,
                         .logits = logits_.data(),
                         .layers = config_.decoder.layers,
                         .rules = exit_rules_.device(),
                         .resolved = exit_rules_.device()});
  exits_.Download();
  for (size_t w = 0; w < windows.size(); ++w) *windows[w].exit = exit_rules_.data()[w];
}

}  // namespace salient

#include "engine/model/decoder.h"

#include <algorithm>

namespace salient {
namespace {

std::vector<DeviceArray<SelectionRule>> RuleArrays(Backend& backend, int32_t groups, int32_t rows) {
  std::vector<DeviceArray<SelectionRule>> made;
  for (int32_t g = 0; g < groups; ++g) made.push_back(backend.Array<SelectionRule>(rows));
  return made;
}

}  // namespace

DecoderRows::DecoderRows(Backend& backend, const ModelConfig& config, int32_t rows, int32_t extra, int32_t width)
    : token(backend.Array<int32_t>(rows)),
      step(backend.Array<int32_t>(rows + extra)),
      offset(backend.Array<int32_t>(rows)),
      segment(backend.Array<int32_t>(rows)),
      position(backend.Array<int32_t>(rows + extra)),
      source_offset(backend.Array<int32_t>(rows)),
      self_view(backend.Array<KeyView>(rows + extra)),
      cross_view(backend.Array<KeyView>(rows)),
      self_rule(RuleArrays(backend, config.key_groups(Module::kDecoder), rows)),
      cross_rule(RuleArrays(backend, config.key_groups(Module::kCross), rows)),
      exit_rule(backend.Array<ExitRule>(rows)),
      ledger(backend.Array<FillLedger*>(rows)),
      constraint(backend.Array<TokenConstraint>(rows)),
      exit_at(backend.Array<int32_t>(rows)),
      self_tally(backend.Array<AttentionTally>(rows)),
      cross_tally(backend.Array<AttentionTally>(rows)),
      fills(backend.Array<int32_t>(rows)),
      candidates(backend.Array<Candidate>(static_cast<size_t>(rows) * width)) {}

Decoder::Decoder(const Model& model, Backend& backend, int32_t rows, int32_t fills, int32_t max_candidates)
    : model_(model),
      config_(model.config),
      backend_(backend),
      max_rows_(rows),
      max_fills_(fills),
      block_(model, backend, rows + fills, model.config.decoder.ffn_width),
      at_(backend, model.config, rows, fills, max_candidates),
      self_arena_(backend),
      cross_arena_(backend),
      self_lists_(backend.Array<KeyList>(rows)),
      cross_lists_(backend.Array<KeyList>(rows)),
      states_(backend.Array<float>(static_cast<size_t>(rows + fills) * model.config.d_model)),
      logits_(backend.Array<float>(static_cast<size_t>(rows) * model.config.vocab_size)),
      signal_(backend.Array<float>(rows)),
      heads_(backend.Array<float>(static_cast<size_t>(rows) * model.config.decoder.layers)),
      exit_set_(backend.Array<int32_t>(rows)),
      step_rows_(backend.Array<int32_t>(rows)),
      active_{backend.Array<int32_t>(rows), backend.Array<int32_t>(rows)},
      counts_(backend.Array<int32_t>(3)),
      extended_(backend.Array<int32_t>(rows + fills)),
      confident_(backend.Array<int32_t>(rows)) {}

void Decoder::Step(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store) {
  backend_.memory().CopyToDevice(step_rows_.data(), rows.data(), rows.size() * sizeof(int32_t));
  NoteWishes(rows);
  const Rows all{step_rows_.data(), nullptr, static_cast<int32_t>(rows.size())};
  backend_.Embed({.rows = all,
                  .table = model_.embedding.data(),
                  .tokens = at_.token.data(),
                  .offsets = config_.embedding_position == EmbeddingPosition::kNone         ? nullptr
                             : config_.embedding_position == EmbeddingPosition::kSinusoidal ? at_.step.data()
                                                                                            : at_.offset.data(),
                  .width = config_.d_model,
                  .scale = EmbeddingScale(config_),
                  .output = states_.data()});
  Rows active = all;
  for (int32_t layer = 0; layer < config_.decoder.layers; ++layer) {
    SelfAttention(layer, active, self_store);
    CrossAttention(layer, active, cross_store);
    block_.FeedForward(states_.data(), active, model_.decoder[layer]);
    if (probe_) probe_(layer, active, states_.data());
    active = Exits(layer, active);
    if (backend_.host_addressable() && active.size() == 0) break;
  }
  backend_.KeepExitStates({.rows = all,
                           .states = states_.data(),
                           .exit_at = at_.exit_at.data(),
                           .layers = config_.decoder.layers,
                           .ledgers = at_.ledger.data(),
                           .views = at_.self_view.data(),
                           .positions = at_.position.data(),
                           .store = self_store.pages()});
  Classify(all, width);
}

// Which policies are in the step at all, so that no head is computed for nobody.
void Decoder::NoteWishes(const std::vector<int32_t>& rows) {
  geometric_ = multinomial_ = confidence_ = false;
  for (const int32_t row : rows) {
    const ExitKind kind = at_.exit_rule.data()[row].kind;
    geometric_ |= kind == ExitKind::kGeometric;
    multinomial_ |= kind == ExitKind::kMultinomial;
    confidence_ |= kind == ExitKind::kConfidence;
  }
}

void Decoder::SelfAttention(int32_t index, Rows active, KvStore& store) {
  const LayerWeights& layer = model_.decoder[index];
  const Rows extended = FillMissing(index, active, store);
  const float* input = block_.Input(states_.data(), extended, layer.self_norm);  // active rows come first
  AppendKeys(index, extended, input, store);
  if (config_.chooses_keys(Module::kDecoder, index)) {
    Choose(Module::kDecoder, index, active, input, layer.self_selection.get(), store);
  }
  const int32_t* turned = config_.self_rotary ? at_.step.data() : nullptr;
  backend_.Attend({.rows = active,
                   .queries = block_.Queries(*layer.self.query, input, active, turned),
                   .heads = config_.heads,
                   .store = store.pages(),
                   .layer = index,
                   .views = at_.self_view.data(),
                   .lists = self_lists_.data(),
                   .output = block_.attended(),
                   .tallies = at_.self_tally.data()});
  block_.AddTo(states_.data(), active, *layer.self.output, block_.attended(), layer.self_norm);
}

// The active rows, followed by the rows that hold what this layer still lacks of their windows. Where more is missing
// than one product takes, the rest is made first, by itself.
Rows Decoder::FillMissing(int32_t index, Rows active, KvStore& store) {
  if (index == 0) return active;  // no token exits before the first layer
  while (true) {
    backend_.CollectFills({.active = active,
                           .layer = index + 1,
                           .ledgers = at_.ledger.data(),
                           .views = at_.self_view.data(),
                           .store = store.pages(),
                           .first_row = max_rows_,
                           .capacity = max_fills_,
                           .states = states_.data(),
                           .fill_views = at_.self_view.data(),
                           .fill_positions = at_.position.data(),
                           .fill_steps = at_.step.data(),
                           .fills = at_.fills.data(),
                           .count = counts_.data() + 2});
    const int32_t found = counts_.data()[2];
    if (found == 0) return active;
    int32_t* members = extended_.data();
    const int32_t leading = found < max_fills_ ? active.size() : 0;
    for (int32_t i = 0; i < leading; ++i) members[i] = active[i];
    for (int32_t i = 0; i < found; ++i) members[leading + i] = max_rows_ + i;
    const Rows extended{members, nullptr, leading + found};
    if (leading > 0) return extended;
    AppendKeys(index, extended, block_.Input(states_.data(), extended, model_.decoder[index].self_norm), store);
  }
}

void Decoder::AppendKeys(int32_t index, Rows rows, const float* input, KvStore& store) {
  const LayerWeights& layer = model_.decoder[index];
  const int32_t* turned = config_.self_rotary ? at_.step.data() : nullptr;
  backend_.AppendKeyValue({.rows = rows,
                           .key_value = block_.KeysAndValues(*layer.self.key_value, input, rows, turned),
                           .store = store.pages(),
                           .layer = index,
                           .views = at_.self_view.data(),
                           .positions = at_.position.data()});
  if (layer.self_selection == nullptr) return;
  backend_.AppendSelection({.rows = rows,
                            .keys = block_.SelectionVectors(*layer.self_selection->key, input, rows, turned),
                            .key_inverse_step = layer.self_selection->key_inverse_step,
                            .store = store.pages(),
                            .group = config_.key_group(Module::kDecoder, index),
                            .views = at_.self_view.data(),
                            .positions = at_.position.data()});
}

void Decoder::CrossAttention(int32_t index, Rows active, KvStore& store) {
  const LayerWeights& layer = model_.decoder[index];
  const float* input = block_.Input(states_.data(), active, layer.cross_norm);
  if (config_.chooses_keys(Module::kCross, index)) {
    Choose(Module::kCross, index, active, input, layer.cross_selection.get(), store);
  }
  const int32_t* turned = config_.cross_position == CrossPosition::kSegmentRotary ? at_.segment.data() : nullptr;
  backend_.Attend({.rows = active,
                   .queries = block_.Queries(*layer.cross.query, input, active, turned),
                   .heads = config_.heads,
                   .store = store.pages(),
                   .layer = index,
                   .views = at_.cross_view.data(),
                   .lists = cross_lists_.data(),
                   .output = block_.attended(),
                   .tallies = at_.cross_tally.data()});
  block_.AddTo(states_.data(), active, *layer.cross.output, block_.attended(), layer.cross_norm);
}

// The keys that this layer and those above it in its group read (eq. 2 and 8).
void Decoder::Choose(Module module, int32_t index, Rows active, const float* input, const SelectionWeights* selection,
                     KvStore& store) {
  const bool cross = module == Module::kCross;
  const int32_t group = config_.key_group(module, index);
  const KeyView* views = (cross ? at_.cross_view : at_.self_view).data();
  const SelectionRule* rules = (cross ? at_.cross_rule : at_.self_rule)[group].data();
  KeyList* lists = (cross ? cross_lists_ : self_lists_).data();
  AttentionTally* tallies = (cross ? at_.cross_tally : at_.self_tally).data();
  (cross ? cross_arena_ : self_arena_).Lay(active, views, rules, lists);
  SelectArgs select{
      .rows = active, .store = store.pages(), .group = group, .views = views, .rules = rules, .lists = lists};
  if (selection != nullptr) {
    const bool turns = cross ? config_.cross_position == CrossPosition::kSegmentRotary : config_.self_rotary;
    const int32_t* positions = (cross ? at_.segment : at_.step).data();
    select.queries = block_.SelectionVectors(*selection->query, input, active, turns ? positions : nullptr);
    select.key_inverse_step = selection->key_inverse_step;
  }
  backend_.Select(select);
  for (int32_t i = 0; i < active.size(); ++i) {
    const int32_t row = active[i];
    tallies[row].scored += KeysScored(rules[row], views[row], lists[row]);
  }
  if (selection_probe_) selection_probe_(module, group, active, lists);
}

// Lets rows leave after this layer; returns those that go on.
Rows Decoder::Exits(int32_t index, Rows active) {
  const int32_t n = index + 1;
  if (n < config_.decoder.layers) Signal(n, active);
  const int side = index % 2;
  backend_.DecideExits({.active = active,
                        .layer = n,
                        .rules = at_.exit_rule.data(),
                        .signal = signal_.data(),
                        .exit_at = at_.exit_at.data(),
                        .staying = active_[side].data(),
                        .staying_count = counts_.data() + side});
  return Rows{active_[side].data(), counts_.data() + side, active.capacity};
}

// What the policies of this step's rows look at after layer n.
void Decoder::Signal(int32_t n, Rows active) {
  const int32_t size = active.size();
  if (size == 0 || !(geometric_ || (multinomial_ && n == 1) || confidence_)) return;
  std::fill_n(exit_set_.data(), max_rows_, n - 1);
  if (geometric_) {
    backend_.Linear({.weight = model_.halting.geometric[n - 1].get(),
                     .rows = active,
                     .input = ExitStates(active, exit_set_.data()),
                     .output = signal_.data(),
                     .scatter = true});
  }
  if (multinomial_ && n == 1) {
    backend_.Linear({.weight = model_.halting.multinomial.get(),
                     .rows = active,
                     .input = ExitStates(active, exit_set_.data()),
                     .output = heads_.data()});
    backend_.ResolveExits({.rows = active,
                           .kind = ExitKind::kMultinomial,
                           .logits = heads_.data(),
                           .layers = config_.decoder.layers,
                           .rules = at_.exit_rule.data(),
                           .resolved = at_.exit_rule.data()});
  }
  if (confidence_) {
    int32_t count = 0;
    for (int32_t i = 0; i < size; ++i) {
      const ExitRule& rule = at_.exit_rule.data()[active[i]];
      if (rule.kind == ExitKind::kConfidence && n >= rule.least && n < rule.greatest)
        confident_.data()[count++] = active[i];
    }
    const Rows rows{confident_.data(), nullptr, count};
    if (count == 0) return;
    backend_.Linear({.weight = &model_.classifier(n),
                     .rows = rows,
                     .input = ExitStates(rows, exit_set_.data()),
                     .output = logits_.data()});
    backend_.TopProbability(
        {.rows = rows, .logits = logits_.data(), .vocabulary = config_.vocab_size, .probability = signal_.data()});
  }
}

// The rows' states as a classifier or a halting head reads them: through the norm of the exit that `set` names.
const float* Decoder::ExitStates(Rows rows, const int32_t* set) {
  if (config_.pre_norm) return block_.Normed(states_.data(), rows, model_.exit_norms, set);
  backend_.GatherRows({rows, states_.data(), config_.d_model, block_.attended()});
  return block_.attended();
}

void Decoder::Classify(Rows rows, int32_t width) {
  for (int32_t i = 0; i < rows.size(); ++i) exit_set_.data()[rows[i]] = at_.exit_at.data()[rows[i]] - 1;
  const bool tied = model_.classifiers.size() == 1;
  for (int32_t n = 1; n <= (tied ? 1 : config_.decoder.layers); ++n) {
    int32_t count = 0;
    for (int32_t i = 0; i < rows.size(); ++i) {
      if (tied || at_.exit_at.data()[rows[i]] == n) confident_.data()[count++] = rows[i];
    }
    if (count == 0) continue;
    const Rows leaving{confident_.data(), nullptr, count};
    backend_.Linear({.weight = &model_.classifier(n),
                     .rows = leaving,
                     .input = ExitStates(leaving, exit_set_.data()),
                     .output = logits_.data()});
    backend_.Candidates({.rows = leaving,
                         .logits = logits_.data(),
                         .vocabulary = config_.vocab_size,
                         .special = config_.tokens,
                         .constraints = at_.constraint.data(),
                         .width = width,
                         .candidates = at_.candidates.data()});
  }
}

}  // namespace salient

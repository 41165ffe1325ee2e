#include "engine/model/decoder.h"

#include <algorithm>
#include <atomic>

#include "engine/base/check.h"

namespace salient {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> next{0};
  return next++;
}

// On a device, steps with nearly the same number of rows share a graph. Numbers are rounded up to a multiple of an
// eighth of the next power of two.
int32_t RoundedUp(int32_t rows, int32_t most) {
  int32_t unit = 1;
  while (unit * 8 < rows) unit *= 2;
  return std::min((rows + unit - 1) / unit * unit, most);
}

}  // namespace

Decoder::Decoder(const Model& model, Backend& backend, int32_t rows, int32_t fills, int32_t max_candidates)
    : model_(model),
      config_(model.config),
      backend_(backend),
      max_rows_(rows),
      max_fills_(fills),
      max_candidates_(max_candidates),
      patience_(backend.host_addressable() ? 0 : fills / rows - 1),
      id_(NextId()),
      block_(model, backend, rows + fills, rows + fills, model.config.decoder.ffn_width),
      at_(backend, model.config, rows, fills, max_candidates, kGroups * kMostAhead),
      states_(backend.Array<float>(static_cast<size_t>(rows + fills) * model.config.d_model)),
      spare_states_(backend.Array<float>(model.config.pre_norm ? 0 : states_.size())),
      output_(model, backend, block_, at_, states_.data(), rows),
      signal_(backend.Array<float>(rows)),
      heads_(backend.Array<float>(static_cast<size_t>(rows) * model.config.decoder.layers)),
      active_{backend.Array<int32_t>(rows), backend.Array<int32_t>(rows)},
      running_(backend.Array<int32_t>(rows)),
      extended_(backend.Array<int32_t>(rows + fills)),
      counts_(backend.Array<int32_t>(kCounts)),
      copies_(backend) {}

void Decoder::Step(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store) {
  SALIENT_CHECK(width <= max_candidates_);
  const Rows all = StageRows(rows);
  Prepare(rows);
  const auto run = [&] { Run(all, width, self_store, cross_store); };
  // With probes or held rows a step differs from the one before, so it is not replayed.
  if (has_probes() || held_ != 0) {
    run();
  } else {
    backend_.Replay(ReplayKey(all.capacity, width, false), run);
  }
  at_.out.Download();
}

void Decoder::Draft(const std::vector<int32_t>& rows, KvStore& self_store, KvStore& cross_store) {
  const Rows all = StageRows(rows);
  Prepare(rows);
  RunLayers(all, 1, self_store, cross_store);
  output_.Classify(all, 1);
  at_.in.Download();  // these rows' key lists; Prepare uploads them again with the other inputs
  at_.out.Download();
}

void Decoder::StepAhead(const std::vector<int32_t>& rows, int32_t width, KvStore& self_store, KvStore& cross_store) {
  SALIENT_CHECK(width <= max_candidates_ && launched_ - taken_ < kGroups);
  const Rows all = StageRows(rows);
  for (const int32_t row : rows) at_.asked_exit_rule.data()[row] = at_.exit_rule.data()[row];
  NoteSignals(rows);
  at_.in.UploadTo(at_.given.data());
  uploaded_ = backend_.memory().Mark();
  const auto place = static_cast<int32_t>(launched_++ % kGroups);
  LaunchMerge(all.capacity, place);
  backend_.Replay(ReplayKey(all.capacity, width, true), [&] {
    for (int32_t step = 0; step < kMostAhead; ++step) {
      Run(all, width, self_store, cross_store);
      LaunchAdvance(all.capacity, width);
    }
  });
  const size_t group_records = static_cast<size_t>(kMostAhead) * max_rows_, group_candidates = group_records * width;
  at_.records.StartDownload(place * group_records, group_records);
  at_.recorded_candidates.StartDownload(place * group_records * max_candidates_, group_candidates);
  recorded_[place] = backend_.memory().Mark();
  width_[place] = width;
}

int32_t Decoder::TakeRecords() {
  const int64_t place = taken_++ % kGroups;
  backend_.memory().WaitFor(recorded_[place]);
  return width_[place];
}

void Decoder::LoadRecord(const std::vector<int32_t>& rows, int32_t step) {
  const auto place = static_cast<int32_t>((taken_ - 1) % kGroups);
  const int32_t recorded = place * kMostAhead + step, width = width_[place];
  const StepRecords records = Records(at_.records.data(), at_.recorded_candidates.data());
  for (const int32_t row : rows) {
    const StepRecord& record = records.Of(recorded, row);
    std::copy_n(records.CandidatesOf(recorded, row, width), width,
                at_.candidates.data() + static_cast<size_t>(row) * width);
    at_.exit_at.data()[row] = record.exit_at;
    at_.fills.data()[row] = record.fills;
    at_.self_tally.data()[row] = record.self;
    at_.cross_tally.data()[row] = record.cross;
    at_.aligned.data()[row] = record.aligned;
  }
}

void Decoder::PrepareRows(const std::vector<int32_t>& rows, int32_t growth) {
  const Rows on_host{rows.data(), nullptr, static_cast<int32_t>(rows.size())};
  at_.self_arena.Assign(on_host, at_.self_view.data(), at_.self_rule, growth);
  at_.cross_arena.Assign(on_host, at_.cross_view.data(), at_.cross_rule);
}

// Uploads the inputs of a step.
void Decoder::Prepare(const std::vector<int32_t>& rows) {
  NoteSignals(rows);
  for (const int32_t row : rows) at_.exit_at.data()[row] = 0;
  at_.in.Upload();
  at_.out.Upload();
}

// The rows of a group of steps, as given to StepAhead.
Rows Decoder::ScheduledRows(int32_t capacity) const {
  const std::byte* given = at_.given.data();
  return {reinterpret_cast<const int32_t*>(given + at_.taking_part.at()),
          reinterpret_cast<const int32_t*>(given + at_.taking_part_count.at()), capacity};
}

void Decoder::LaunchMerge(int32_t capacity, int32_t place) {
  std::byte* given = at_.given.data();
  backend_.MergeNewRows({.rows = ScheduledRows(capacity),
                         .begins = reinterpret_cast<const Beginning*>(given + at_.begins.at()),
                         .fields = at_.fields.data(),
                         .field_count = static_cast<int32_t>(at_.fields.size()),
                         .given = given,
                         .kept = at_.in.device(),
                         .goes_on = at_.goes_on.data(),
                         .self_tally = at_.self_tally.device(),
                         .cross_tally = at_.cross_tally.device(),
                         .fills = at_.fills.device(),
                         .aligned = at_.aligned.device(),
                         .taking_part = at_.taking_part.device(),
                         .count = at_.taking_part_count.device(),
                         .first_record = place * kMostAhead,
                         .record_step = at_.record_step.device()});
}

void Decoder::LaunchAdvance(int32_t capacity, int32_t width) {
  backend_.Advance({.scheduled = ScheduledRows(capacity),
                    .rows = at_.taking_part.device(),
                    .count = at_.taking_part_count.device(),
                    .width = width,
                    .scripts = at_.script.device(),
                    .special = config_.tokens,
                    .candidates = at_.candidates.device(),
                    .exit_at = at_.exit_at.device(),
                    .asked = at_.asked_exit_rule.device(),
                    .goes_on = at_.goes_on.data(),
                    .token = at_.token.device(),
                    .step = at_.step.device(),
                    .offset = at_.offset.device(),
                    .segment = at_.segment.device(),
                    .position = at_.position.device(),
                    .self_view = at_.self_view.device(),
                    .cross_view = at_.cross_view.device(),
                    .exit_rule = at_.exit_rule.device(),
                    .constraint = at_.constraint.device(),
                    .markers = at_.markers.device(),
                    .self_tally = at_.self_tally.device(),
                    .cross_tally = at_.cross_tally.device(),
                    .fills = at_.fills.device(),
                    .aligned = at_.aligned.device(),
                    .records = Records(at_.records.device(), at_.recorded_candidates.device()),
                    .record_step = at_.record_step.device()});
}

// Copies the step's rows to the device. Their capacity is rounded up, so that a few graphs serve all numbers of rows.
// The device reads the exact number itself.
Rows Decoder::StageRows(const std::vector<int32_t>& rows) {
  SALIENT_CHECK(rows.size() <= at_.taking_part.size());
  SALIENT_DCHECK(std::is_sorted(rows.begin(), rows.end()));
  std::copy(rows.begin(), rows.end(), at_.taking_part.data());
  const auto count = static_cast<int32_t>(rows.size());
  *at_.taking_part_count.data() = count;
  if (backend_.host_addressable()) return {at_.taking_part.device(), nullptr, count};
  return {at_.taking_part.device(), at_.taking_part_count.device(), RoundedUp(count, max_rows_)};
}

uint64_t Decoder::ReplayKey(int32_t capacity, int32_t width, bool ahead) const {
  const uint64_t policies = signals_ << 1 | (ahead ? 1 : 0);
  return ((id_ << 20 | static_cast<uint64_t>(capacity)) << 8 | static_cast<uint64_t>(width)) << 8 | policies;
}

void Decoder::Run(Rows all, int32_t width, KvStore& self_store, KvStore& cross_store) {
  RunLayers(all, width, self_store, cross_store);
  backend_.KeepExitStates({.rows = all,
                           .states = states_.data(),
                           .exit_at = at_.exit_at.device(),
                           .layers = config_.decoder.layers,
                           .ledgers = at_.ledger.device(),
                           .views = at_.self_view.device(),
                           .positions = at_.position.device(),
                           .store = self_store.pages()});
  output_.Classify(all, width);
}

// Runs every row from its first layer to be run up to its exit.
void Decoder::RunLayers(Rows all, int32_t width, KvStore& self_store, KvStore& cross_store) {
  Rows active = held_ == 0 ? all : Running(0, all);
  const bool by_step = config_.embedding_position == EmbeddingPosition::kSinusoidal;
  block_.Embed(states_.data(), active, at_.token.device(), (by_step ? at_.step : at_.offset).device(),
               /*is_decoder=*/true);
  output_.Begin();
  States states{.x = states_.data(), .spare = spare_states_.data()};
  for (int32_t layer = 0; layer < config_.decoder.layers; ++layer) {
    if ((held_ >> layer & 1) != 0) active = Running(layer, all);
    if (IsKnownEmpty(active)) {
      if (held_ >> layer <= 1) break;  // no row is held at a higher layer either
      continue;
    }
    SelfAttention(states, layer, active, all, self_store);
    CrossAttention(states, layer, active, cross_store);
    block_.FeedForward(states, active, model_.decoder[layer]);
    if (ReadsStatesAfter(layer)) block_.ApplyDueNorm(states, active, states_.data());
    if (probe_) {
      const size_t size = static_cast<size_t>(max_rows_) * config_.d_model;
      probe_(layer, copies_.OnHost(active), copies_.OnHost(states_.data(), size));
    }
    active = Exits(layer, active, width);
  }
}

// The rows that run layer `layer` (from 0): those that reached it from below and those that were held at it.
Rows Decoder::Running(int32_t layer, Rows all) {
  backend_.PickRows({.rows = all,
                     .filter = RowFilter::kRunning,
                     .layer = layer,
                     .held_at = at_.held_at.device(),
                     .exit_at = at_.exit_at.device(),
                     .picked = running_.data(),
                     .count = counts_.data() + kRunning});
  return {running_.data(), counts_.data() + kRunning, all.capacity};
}

// Notes which signals the step's policies need, so that no others are computed, and at which layers rows are held.
void Decoder::NoteSignals(const std::vector<int32_t>& rows) {
  signals_ = held_ = 0;
  for (const int32_t row : rows) {
    if (at_.aligns[row] != 0) signals_ |= kAligns;
    if (at_.held_at.data()[row] > 0) held_ |= uint64_t{1} << at_.held_at.data()[row];
    const ExitRule& rule = at_.exit_rule.data()[row];
    signals_ |= uint64_t{1} << static_cast<int>(InfoOf(rule.policy).signal);
    const int32_t layers = config_.decoder.layers;
    if (InfoOf(rule.policy).signal != ExitSignal::kNone || std::min(rule.at, rule.greatest) < layers) {
      signals_ |= kLeaveEarly;
    }
  }
}

// Whether anybody but the next layer reads the states after this one: who leaves here, who waits at it, a test; and who
// has come to the end.
bool Decoder::ReadsStatesAfter(int32_t layer) const {
  return layer + 1 == config_.decoder.layers || (signals_ & kLeaveEarly) != 0 || held_ != 0 || probe_ != nullptr;
}

void Decoder::SelfAttention(States& states, int32_t index, Rows active, Rows all, KvStore& store) {
  const LayerWeights& layer = model_.decoder[index];
  if (layer.ssru != nullptr) {
    block_.Recur(states, active, *layer.ssru, layer.self_norm, store.pages(), index, at_.self_view.device());
    return;
  }
  ProjectSelf(states, index, FillMissing(states, index, active, all, store), active, store);
  Attend(Module::kDecoder, index, active, store);
  block_.AddTo(states, active, *layer.self.output, block_.attended(), layer.self_norm);
}

// Keys can be missing only where the tokens of a chunk exit at different layers, as signals decide for each token. If
// all tokens exit at one layer, usually the last, every layer below it has all keys.
bool Decoder::MayLackKeys() const {
  return UsesSignal(ExitSignal::kMultinomialHead) || UsesSignal(ExitSignal::kGeometricHead) ||
         UsesSignal(ExitSignal::kConfidence);
}

// The active rows, followed by rows for the keys that this layer still lacks of their chunks. If more keys are missing
// than one product takes, products of their own make the excess first. On a device `patience` bounds the number, so
// that one product takes all.
Rows Decoder::FillMissing(States& states, int32_t index, Rows active, Rows all, KvStore& store) {
  if (index == 0 || !MayLackKeys()) return active;  // no token exits before the first layer
  const Rows extended{extended_.data(), counts_.data() + kExtended, active.capacity + max_fills_};
  while (true) {
    backend_.CollectFills({.active = active,
                           .all = all,
                           .patience = patience_,
                           .layer = index + 1,
                           .ledgers = at_.ledger.device(),
                           .steps = at_.step.device(),
                           .views = at_.self_view.device(),
                           .store = store.pages(),
                           .first_row = max_rows_,
                           .capacity = max_fills_,
                           .states = states_.data(),
                           .fill_views = at_.self_view.device(),
                           .fill_positions = at_.position.device(),
                           .fill_steps = at_.step.device(),
                           .fills = at_.fills.device(),
                           .count = counts_.data() + kFills,
                           .extended = extended_.data(),
                           .extended_count = counts_.data() + kExtended});
    if (!backend_.host_addressable()) return extended;
    const int32_t found = counts_.data()[kFills];
    if (found < max_fills_) return extended;
    const Rows fills{extended_.data() + active.size(), nullptr, found};
    ProjectSelf(states, index, fills, {}, store);
  }
}

// Keys and values of `rows`, and queries of `active`, which are the first of them, or none.
void Decoder::ProjectSelf(States& states, int32_t index, Rows rows, Rows active, KvStore& store) {
  const LayerWeights& layer = model_.decoder[index];
  const SelectionWeights* selection = layer.self_selection.get();
  const int32_t* rotary_positions = config_.self_rotary ? at_.step.device() : nullptr;
  const AppendKeyValueArgs key_value{.rows = rows,
                                     .key_value = block_.key_values(),
                                     .store = store.pages(),
                                     .layer = index,
                                     .views = at_.self_view.device(),
                                     .positions = at_.position.device()};
  std::vector<Projection> made = {block_.KeyValue(*layer.self.key_value, key_value, rotary_positions)};
  AppendSelectionArgs keys;
  if (selection != nullptr) {
    keys = {.rows = rows,
            .keys = block_.selection_keys(),
            .key_inverse_step = selection->key_inverse_step,
            .store = store.pages(),
            .group = config_.key_group(Module::kDecoder, index),
            .views = at_.self_view.device(),
            .positions = at_.position.device()};
    made.push_back(block_.SelectionKey(*selection->key, keys, rotary_positions));
  }
  if (active.capacity > 0) {
    made.push_back(block_.Query(*layer.self.query, active, rotary_positions));
    if (selection != nullptr) made.push_back(block_.SelectionQuery(*selection->query, active, rotary_positions));
  }
  block_.Project(states, rows, layer.self_norm, made);
}

void Decoder::CrossAttention(States& states, int32_t index, Rows active, KvStore& store) {
  const LayerWeights& layer = model_.decoder[index];
  const SelectionWeights* selection = layer.cross_selection.get();
  const int32_t* rotary_positions =
      config_.cross_position == CrossPosition::kSegmentRotary ? at_.segment.device() : nullptr;
  std::vector<Projection> made = {block_.Query(*layer.cross.query, active, rotary_positions)};
  if (selection != nullptr) made.push_back(block_.SelectionQuery(*selection->query, active, rotary_positions));
  block_.Project(states, active, layer.cross_norm, made);
  Attend(Module::kCross, index, active, store);
  block_.AddTo(states, active, *layer.cross.output, block_.attended(), layer.cross_norm);
}

// Attention of every active row, whose queries are computed. Keys are selected by the lowest layer of a group; this
// layer selects them if it is that one.
void Decoder::Attend(Module module, int32_t index, Rows active, KvStore& store) {
  const bool cross = module == Module::kCross;
  const LayerWeights& layer = model_.decoder[index];
  KeyList* lists = (cross ? at_.cross_arena : at_.self_arena).lists();
  const AttendArgs attend{.rows = active,
                          .queries = block_.queries(),
                          .heads = config_.heads,
                          .store = store.pages(),
                          .layer = index,
                          .views = (cross ? at_.cross_view : at_.self_view).device(),
                          .lists = lists,
                          .output = block_.attended(),
                          .tallies = (cross ? at_.cross_tally : at_.self_tally).device(),
                          .few_a_document = true};
  if (cross && index == config_.alignment_layer() && (signals_ & kAligns) != 0) {
    backend_.Align({.rows = active,
                    .queries = attend.queries,
                    .heads = attend.heads,
                    .store = attend.store,
                    .layer = index,
                    .views = attend.views,
                    .scripts = at_.script.device(),
                    .segments = at_.segment.device(),
                    .aligned = at_.aligned.device()});
  }
  if (!config_.chooses_keys(module, index)) return backend_.Attend(attend);
  const int32_t group = config_.key_group(module, index);
  SelectArgs select{.rows = active,
                    .store = attend.store,
                    .group = group,
                    .views = attend.views,
                    .rules = (cross ? at_.cross_rule : at_.self_rule)[group].device(),
                    .lists = lists,
                    .tallies = attend.tallies};
  if (const SelectionWeights* weights = (cross ? layer.cross_selection : layer.self_selection).get()) {
    select.queries = block_.selection_queries();
    select.key_inverse_step = weights->key_inverse_step;
  }
  backend_.Select(select);
  backend_.Attend(attend);
  if (!selection_probe_) return;
  const Rows on_host = copies_.OnHost(active);
  selection_probe_(module, group, on_host, copies_.OnHost(lists, max_rows_, on_host));
}

// Decides which rows exit after this layer; returns those that continue.
Rows Decoder::Exits(int32_t index, Rows active, int32_t width) {
  const int32_t n = index + 1;
  if (n < config_.decoder.layers) {
    if ((signals_ & kLeaveEarly) == 0) return active;  // nobody leaves before the last layer
    Signal(n, active);
  }
  const int side = index % 2;
  backend_.DecideExits({.active = active,
                        .layer = n,
                        .rules = at_.exit_rule.device(),
                        .signal = signal_.data(),
                        .exit_at = at_.exit_at.device(),
                        .staying = active_[side].data(),
                        .staying_count = counts_.data() + side});
  const Rows staying{active_[side].data(), counts_.data() + side, active.capacity};
  output_.Settle(staying, width);
  return staying;
}

// Computes the signals that the policies of this step's rows need after layer n.
void Decoder::Signal(int32_t n, Rows active) {
  if (IsKnownEmpty(active)) return;
  if (UsesSignal(ExitSignal::kGeometricHead)) {
    backend_.Linear({.weight = model_.halting.geometric[n - 1].get(),
                     .rows = active,
                     .input = output_.StatesAt(n, active),
                     .output = signal_.data(),
                     .scatter = true});
  }
  if (UsesSignal(ExitSignal::kMultinomialHead) && n == 1) {
    backend_.Linear({.weight = model_.halting.multinomial.get(),
                     .rows = active,
                     .input = output_.StatesAt(n, active),
                     .output = heads_.data()});
    backend_.ResolveExits({.rows = active,
                           .policy = DepthPolicy::kMultinomial,
                           .logits = heads_.data(),
                           .layers = config_.decoder.layers,
                           .rules = at_.exit_rule.device(),
                           .resolved = at_.exit_rule.device()});
  }
  if (UsesSignal(ExitSignal::kConfidence)) output_.Confidence(n, active, signal_.data());
}

}  // namespace salient

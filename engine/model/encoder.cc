#include "engine/model/encoder.h"

#include <algorithm>
#include <numeric>

#include "absl/time/clock.h"
#include "engine/base/check.h"

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

// Keys and values, and hidden states, are made for this many rows at a time: few enough for a cache, many enough for
// efficient matrix products.
constexpr int32_t kPartRows = 1024;

// A slice of time ends when less than this share of it is left.
constexpr double kWorthGoingOn = 0.125;

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

Encoder::Encoder(const Model& model, Backend& backend, int32_t max_tokens, int32_t max_chunks)
    : model_(model),
      config_(model.config),
      backend_(backend),
      part_rows_(backend.host_addressable() ? std::min(max_tokens, kPartRows) : max_tokens),
      block_(model, backend, max_tokens, part_rows_, model.config.encoder.ffn_width),
      scratch_(backend.memory(), ScratchLayout(model, backend), KvStore::PagesFor(max_tokens) + max_chunks),
      in_(backend.memory()),
      out_(backend.memory()),
      tokens_(in_, max_tokens),
      offset_(in_, max_tokens),
      segment_(in_, max_tokens),
      position_(in_, max_tokens),
      scratch_pages_(in_, KvStore::PagesFor(max_tokens) + max_chunks),
      views_(in_, max_tokens),
      cross_views_(in_, max_tokens),
      rules_(RuleArrays(in_, model.config.key_groups(Module::kEncoder), max_tokens)),
      arena_(backend, in_, max_tokens),
      tallies_(out_, max_tokens),
      needing_staging_(backend.memory()),
      needing_(needing_staging_, static_cast<size_t>(max_tokens) * model.config.decoder.layers),
      exits_(backend.memory()),
      exit_rules_(exits_, max_chunks),
      states_(backend.Array<float>(static_cast<size_t>(max_tokens) * model.config.d_model)),
      output_(backend.Array<float>(static_cast<size_t>(max_tokens) * model.config.d_model)),
      mean_(backend.Array<float>(static_cast<size_t>(max_chunks) * model.config.d_model)),
      logits_(backend.Array<float>(static_cast<size_t>(max_chunks) * model.config.decoder.layers)),
      copies_(backend) {
  in_.Allocate();
  out_.Allocate();
  needing_staging_.Allocate();
  exits_.Allocate();
  std::vector<int32_t> numbers(max_tokens);
  std::iota(numbers.begin(), numbers.end(), 0);
  every_row_ = OnDevice(backend.memory(), numbers);
}

void Encoder::Begin(std::span<const EncoderInput> chunks, KvStore& cross_store) {
  chunks_.clear();
  tokens_count_ = 0;
  for (const EncoderInput& chunk : chunks) {
    chunks_.push_back({chunk, tokens_count_, false});
    tokens_count_ += static_cast<int32_t>(chunk.tokens.size());
  }
  SALIENT_CHECK(tokens_count_ <= static_cast<int32_t>(tokens_.size()) && chunks_.size() <= exit_rules_.size());
  cross_store_ = &cross_store;
  PackChunks();
  in_.Upload();
  out_.Upload();
  const bool by_position = config_.embedding_position == EmbeddingPosition::kSinusoidal;
  block_.Embed(states_.data(), Rows::First(tokens_count_), tokens_.device(),
               (by_position ? position_ : offset_).device(), /*is_decoder=*/false);
  seconds_a_row_ = {};
  decides_exits_ = false;
  layer_ = row_ = 0;
  stage_ = Stage::kKeys;
  if (!backend_.host_addressable()) RunFor(absl::InfiniteDuration());
}

bool Encoder::Continue(absl::Duration time) {
  if (backend_.host_addressable()) {
    RunFor(time);
  } else if (time == absl::InfiniteDuration()) {
    backend_.memory().WaitFor(launched_);
  }
  if (stage_ == Stage::kLaunched && backend_.memory().Passed(launched_)) Finish();
  return !busy();
}

void Encoder::RunFor(absl::Duration time) {
  const absl::Time start = absl::Now();
  absl::Duration left = time;
  while (stage_ != Stage::kLaunched && stage_ != Stage::kDone) {
    const absl::Time before = absl::Now();
    const Range range{row_, EndAfter(row_, RowsWithin(left))};
    const auto stage = static_cast<size_t>(stage_);
    Run(range);
    const absl::Time now = absl::Now();
    seconds_a_row_[stage] = absl::ToDoubleSeconds(now - before) / std::max(range.size(), 1);
    left = time - (now - start);
    if (left < time * kWorthGoingOn) break;
  }
}

// A device completes the pass for a dropped chunk, too. The chunk's arrays may be reused only after that.
void Encoder::Drop(size_t chunk) {
  chunks_[chunk].dropped = true;
  if (!backend_.host_addressable()) return;
  const bool all = std::all_of(chunks_.begin(), chunks_.end(), [](const PassChunk& one) { return one.dropped; });
  if (all && busy()) Finish();
}

// Packs the chunks' tokens one after another, with each token's position and the keys that it may see.
void Encoder::PackChunks() {
  taken_.clear();
  for (const auto& [chunk, first, dropped] : chunks_) {
    const int32_t length = static_cast<int32_t>(chunk.tokens.size());
    const size_t first_page = taken_.size();
    for (int32_t page = 0; page < KvStore::PagesFor(length); ++page) taken_.push_back(scratch_.Take());
    const int32_t* pages = scratch_pages_.device() + first_page;
    const SourcePositions positions = PositionsOf(chunk.tokens, config_.tokens.separator);
    for (int32_t i = 0; i < length; ++i) {
      const int32_t row = first + i;
      tokens_.data()[row] = chunk.tokens[i];
      offset_.data()[row] = positions.offset[i];
      segment_.data()[row] = positions.segment[i];
      position_.data()[row] = i;
      views_.data()[row] = KeyView{pages, nullptr, length, i};
      cross_views_.data()[row] = KeyView{chunk.cross_pages.data(), nullptr, length, i};
      tallies_.data()[row] = {};
      for (size_t g = 0; g < rules_.size(); ++g) {
        rules_[g].data()[row] = chunk.rules[g];
      }
    }
  }
  std::copy(taken_.begin(), taken_.end(), scratch_pages_.data());
  arena_.Assign(Rows::First(tokens_count_), views_.data(), rules_);
}

Rows Encoder::RowsOf(Range range) const {
  if (range.first == 0) return Rows::First(range.last);
  return {every_row_.data() + range.first, nullptr, range.size()};
}

// Runs an operation that treats each row by itself on one part of the rows after another, to save memory.
template <typename Body>
void Encoder::InParts(Range range, const Body& body) {
  for (Range part = range; part.first < range.last; part.first = part.last) {
    part.last = std::min(part.first + part_rows_, range.last);
    body(part);
  }
}

// The end of a range of about `rows` rows. Attention allows cuts only at some queries of a document (attend.h).
int32_t Encoder::EndAfter(int32_t first, int32_t rows) const {
  if (rows >= tokens_count_ - first) return tokens_count_;
  const int32_t end = first + rows;
  const auto next = std::upper_bound(chunks_.begin(), chunks_.end(), end,
                                     [](int32_t row, const PassChunk& chunk) { return row < chunk.first; });
  const PassChunk& cut = *std::prev(next);
  const int32_t length = static_cast<int32_t>(cut.input.tokens.size());
  const int32_t part = (end - cut.first) / kQueryPart * kQueryPart;
  return cut.first + (length - part < kQueryPart ? length : part);
}

// How many rows the next range may have, from the time per row of the stage's ranges so far. The first range is small.
int32_t Encoder::RowsWithin(absl::Duration time) const {
  if (time == absl::InfiniteDuration()) return tokens_count_;
  const double each = seconds_a_row_[static_cast<size_t>(stage_)];
  if (each <= 0) return kQueryPart;
  const double rows = std::max<double>(absl::ToDoubleSeconds(time) / each, kQueryPart);
  return static_cast<int32_t>(std::min<double>(rows, tokens_count_));
}

void Encoder::Run(Range range) {
  switch (stage_) {
    case Stage::kKeys:
      InParts(range, [this](Range part) { WriteKeys(part); });
      break;
    case Stage::kReading:
      ReadKeys(range);
      break;
    case Stage::kCross:
      InParts(range, [this](Range part) { WriteCross(part); });
      break;
    case Stage::kLaunched:
    case Stage::kDone:
      return;
  }
  row_ = range.last;
  if (row_ == tokens_count_) NextStage();
}

void Encoder::NextStage() {
  row_ = 0;
  switch (stage_) {
    case Stage::kKeys:
      stage_ = Stage::kReading;
      return;
    case Stage::kReading:
      CallProbes();
      stage_ = Stage::kKeys;
      if (++layer_ < config_.encoder.layers) return;
      stage_ = Stage::kCross;
      layer_ = 0;
      return;
    case Stage::kCross:
      if (++layer_ < config_.decoder.layers) return;
      DecideSequenceExits();
      Launched();
      return;
    case Stage::kLaunched:
    case Stage::kDone:
      return;
  }
}

// The positions for the rotary encoding of queries and keys: of tokens or of segments; null without one.
const int32_t* Encoder::RotaryPositions() const {
  switch (config_.encoder_position) {
    case SelfPosition::kNone:
      return nullptr;
    case SelfPosition::kRotary:
      return position_.device();
    case SelfPosition::kSegmentRotary:
      return segment_.device();
  }
  return nullptr;
}

// Computes keys and values of the range, and its selection keys where this layer selects.
void Encoder::WriteKeys(Range range) {
  const LayerWeights& layer = model_.encoder[layer_];
  const Rows rows = RowsOf(range);
  const int32_t* rotary_positions = RotaryPositions();
  const AppendKeyValueArgs key_value{.rows = rows,
                                     .key_value = block_.key_values(),
                                     .store = scratch_.pages(),
                                     .layer = 0,
                                     .views = views_.device(),
                                     .positions = position_.device()};
  std::vector<Projection> made = {block_.KeyValue(*layer.self.key_value, key_value, rotary_positions)};
  AppendSelectionArgs keys;
  if (layer.self_selection != nullptr && config_.chooses_keys(Module::kEncoder, layer_)) {
    keys = {.rows = rows,
            .keys = block_.selection_keys(),
            .key_inverse_step = layer.self_selection->key_inverse_step,
            .store = scratch_.pages(),
            .group = 0,
            .views = views_.device(),
            .positions = position_.device()};
    made.push_back(block_.SelectionKey(*layer.self_selection->key, keys, rotary_positions));
  }
  States states{.x = states_.data()};
  block_.Project(states, rows, layer.self_norm, made);
}

// The rest of a layer: attention and feed-forward. After the last layer also keeps the states that the decoder reads.
void Encoder::ReadKeys(Range range) {
  const LayerWeights& layer = model_.encoder[layer_];
  const Rows rows = RowsOf(range);
  const int32_t* rotary_positions = RotaryPositions();
  const bool chooses = config_.chooses_keys(Module::kEncoder, layer_);
  std::vector<Projection> made = {block_.Query(*layer.self.query, rows, rotary_positions)};
  if (chooses && layer.self_selection != nullptr) {
    made.push_back(block_.SelectionQuery(*layer.self_selection->query, rows, rotary_positions));
  }
  States states{.x = states_.data()};
  block_.Project(states, rows, layer.self_norm, made);
  if (chooses) ChooseKeys(rows);
  backend_.Attend({.rows = rows,
                   .queries = block_.queries(),
                   .heads = config_.heads,
                   .store = scratch_.pages(),
                   .layer = 0,
                   .views = views_.device(),
                   .lists = arena_.lists(),
                   .output = block_.attended(),
                   .tallies = tallies_.device(),
                   .same_keys = range.first > 0,
                   .same_lists = layer_ > 0 && !chooses && range.size() == tokens_count_});
  block_.AddTo(states, rows, *layer.self.output, block_.attended(), layer.self_norm);
  InParts(range, [&](Range part) { block_.FeedForward(states, RowsOf(part), layer); });
  if (layer_ + 1 == config_.encoder.layers) KeepOutput(range);
}

void Encoder::KeepOutput(Range range) {
  const Rows rows = RowsOf(range);
  float* output = output_.data() + static_cast<size_t>(range.first) * config_.d_model;
  if (config_.pre_norm) {
    const float* normed = block_.Normed(states_.data(), rows, model_.encoder_norm, nullptr);
    backend_.GatherRows({Rows::First(range.size()), normed, config_.d_model, output});
  } else {
    backend_.GatherRows({rows, states_.data(), config_.d_model, output});
  }
}

// Selects the keys that this layer reads, and the layers above it in its group. The selection queries are computed.
void Encoder::ChooseKeys(Rows rows) {
  SelectArgs select{.rows = rows,
                    .store = scratch_.pages(),
                    .views = views_.device(),
                    .rules = rules_[config_.key_group(Module::kEncoder, layer_)].device(),
                    .lists = arena_.lists(),
                    .tallies = tallies_.device()};
  if (const SelectionWeights* selection = model_.encoder[layer_].self_selection.get(); selection != nullptr) {
    select.queries = block_.selection_queries();
    select.key_inverse_step = selection->key_inverse_step;
  }
  backend_.Select(select);
}

void Encoder::CallProbes() {
  if (selection_probe_ && config_.chooses_keys(Module::kEncoder, layer_)) {
    selection_probe_(config_.key_group(Module::kEncoder, layer_), tokens_count_,
                     copies_.OnHost(arena_.lists(), tokens_count_, Rows::First(tokens_count_)));
  }
  if (!probe_) return;
  const size_t size = static_cast<size_t>(tokens_count_) * config_.d_model;
  probe_(layer_, tokens_count_, copies_.OnHost(states_.data(), size));
}

// The rows of the range for which this decoder layer needs keys, on the device. Layers above a chunk's greatest exit
// are never read, so no keys are made for them. Each layer has its own part of the array, because the copies of all
// layers may be in progress at once.
Rows Encoder::Needing(Range range) {
  const size_t first = tokens_.size() * layer_;
  int32_t* const needing = needing_.data() + first;
  int32_t count = 0;
  for (const PassChunk& chunk : chunks_) {
    if (chunk.dropped || layer_ >= chunk.input.exit->greatest) continue;
    const int32_t end = chunk.first + static_cast<int32_t>(chunk.input.tokens.size());
    for (int32_t row = std::max(range.first, chunk.first); row < std::min(range.last, end); ++row) {
      needing[count++] = row;
    }
  }
  needing_.Upload(first, count);
  return {needing_.device() + first, nullptr, count};
}

// Cross-attention keys and values of one decoder layer (the first-call term of the FLOP count).
void Encoder::WriteCross(Range range) {
  const Rows rows = Needing(range);
  if (rows.capacity == 0) return;
  const int32_t* rotary_positions =
      config_.cross_position == CrossPosition::kSegmentRotary ? segment_.device() : nullptr;
  const LayerWeights& layer = model_.decoder[layer_];
  const AppendKeyValueArgs key_value{.rows = rows,
                                     .key_value = block_.key_values(),
                                     .store = cross_store_->pages(),
                                     .layer = layer_,
                                     .views = cross_views_.device(),
                                     .positions = position_.device()};
  std::vector<Projection> made = {block_.KeyValue(*layer.cross.key_value, key_value, rotary_positions)};
  AppendSelectionArgs keys;
  if (layer.cross_selection != nullptr) {
    keys = {.rows = rows,
            .keys = block_.selection_keys(),
            .key_inverse_step = layer.cross_selection->key_inverse_step,
            .store = cross_store_->pages(),
            .group = layer_ / config_.group_size(Module::kCross),
            .views = cross_views_.device(),
            .positions = position_.device()};
    made.push_back(block_.SelectionKey(*layer.cross_selection->key, keys, rotary_positions));
  }
  block_.ProjectPlain(output_.data(), rows, made);
}

// Eq. 8: q(n|x) = softmax(W_h mean(encoder output) + b_h). The sequence policy knows its exit before the first token.
void Encoder::DecideSequenceExits() {
  if (model_.halting.sequence == nullptr) return;
  const auto asks = [](const PassChunk& chunk) {
    return !chunk.dropped && chunk.input.exit->policy == DepthPolicy::kSequence;
  };
  if (std::none_of(chunks_.begin(), chunks_.end(), asks)) return;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    backend_.MeanRows({output_.data() + static_cast<size_t>(chunks_[i].first) * config_.d_model,
                       static_cast<int32_t>(chunks_[i].input.tokens.size()), config_.d_model,
                       mean_.data() + i * config_.d_model});
  }
  const Rows rows = Rows::First(static_cast<int32_t>(chunks_.size()));
  backend_.Linear(
      {.weight = model_.halting.sequence.get(), .rows = rows, .input = mean_.data(), .output = logits_.data()});
  for (size_t i = 0; i < chunks_.size(); ++i) {
    exit_rules_.data()[i] = chunks_[i].dropped ? ExitRule{} : *chunks_[i].input.exit;
  }
  exits_.Upload();
  backend_.ResolveExits({.rows = rows,
                         .policy = DepthPolicy::kSequence,
                         .logits = logits_.data(),
                         .layers = config_.decoder.layers,
                         .rules = exit_rules_.device(),
                         .resolved = exit_rules_.device()});
  exits_.StartDownload();
  decides_exits_ = true;
}

// Marks the pass as launched: all its operations are queued.
void Encoder::Launched() {
  out_.StartDownload();
  launched_ = backend_.memory().Mark();
  stage_ = Stage::kLaunched;
}

void Encoder::Finish() {
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const auto& [chunk, first, dropped] = chunks_[i];
    if (dropped) continue;
    if (decides_exits_) *chunk.exit = exit_rules_.data()[i];
    for (size_t token = 0; token < chunk.tokens.size(); ++token) *chunk.tally += tallies_.data()[first + token];
  }
  scratch_.Return(taken_);
  stage_ = Stage::kDone;
}

}  // namespace salient

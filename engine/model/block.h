// The parts that encoder and decoder layers share: the steps of a layer as operations on a stream of states.
//
//   x [rows, d] is read and written by row number. Intermediate arrays are compact: their row i belongs to rows[i].
//
// With pre-norm, a block reads norm(x) and adds its result to x. With post-norm, it reads x, adds, and norms the sum.
// That norm can be left to the next block, which then begins with a norm as a block with pre-norm does (States::due).

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/attention/select_rules.h"
#include "engine/backend/backend.h"
#include "engine/base/check.h"
#include "engine/core/staging.h"
#include "engine/model/model.h"

namespace salient {

// A stream of states, by row number.
struct States {
  float* x = nullptr;  // [., d]
  // As large as x. A block whose input's norm is due writes the normed states there, because others may still read the
  // sums, and goes on with it: the two change places. Null: no norm is left due.
  float* spare = nullptr;
  const NormWeights* due = nullptr;  // the norm that x still needs; null: none
};

// Scratch memory for `capacity` rows of one model, and the operations that use it. The operations with the largest
// results (keys and values, the feed-forward block) take at most `wide_capacity` rows. Not thread safe.
class Block {
 public:
  Block(const Model& model, Backend& backend, int32_t capacity, int32_t wide_capacity, int32_t ffn_width)
      : model_(model),
        backend_(backend),
        normed_(backend.Array<float>(Size(capacity, model.config.d_model))),
        query_(backend.Array<float>(Size(capacity, model.config.d_model))),
        key_value_(backend.Array<float>(Size(wide_capacity, 2 * model.config.d_model))),
        attended_(backend.Array<float>(Size(capacity, model.config.d_model))),
        hidden_(backend.Array<float>(Size(wide_capacity, std::max(ffn_width, 1)))),
        selection_query_(backend.Array<float>(Size(capacity, std::max(model.config.selection.width, 1)))),
        selection_key_(backend.Array<float>(Size(capacity, std::max(model.config.selection.width, 1)))) {}

  // Writes the embeddings of the rows' tokens to x, by row number: scaled, plus the sinusoids of `offsets` if the model
  // has them, and normed if the model norms embeddings.
  void Embed(float* x, Rows rows, const int32_t* tokens, const int32_t* offsets, bool is_decoder) {
    backend_.Embed({.rows = rows,
                    .table = is_decoder ? model_.embedding.data() : model_.source_table(),
                    .tokens = tokens,
                    .offsets = config().embedding_position == EmbeddingPosition::kNone ? nullptr : offsets,
                    .width = config().d_model,
                    .scale = EmbeddingScale(config()),
                    .first_position = config().first_position,
                    .base = config().sinusoid_base,
                    .output = x});
    if (config().embedding_norm) {
      Norm(x, rows, is_decoder ? model_.decoder_embedding_norm : model_.encoder_embedding_norm, x);
    }
  }

  // What a block begins with: projections of the rows' states, normed first if the model is pre-norm, or if the norm of
  // the block before is due. Then `rows` are all rows of the stream.
  void Project(States& states, Rows rows, const NormWeights& norm, std::span<const Projection> projections) {
    backend_.Project(Projecting(states, rows, norm, projections));
  }
  // Projections of states that are no input of a block, but taken as they are.
  void ProjectPlain(const float* x, Rows rows, std::span<const Projection> projections) {
    backend_.Project({.norm = {.rows = rows, .input = x, .width = config().d_model, .output = normed_.data()},
                      .projections = projections});
  }

  // The projections of an attention block, rotated by `rotary_positions` [.] by row number; null: not rotated. Each has
  // memory of its own for results.
  Projection Query(const PackedLinear& weight, Rows rows, const int32_t* rotary_positions) {
    return Rotated(weight, rows, query_, rotary_positions, config().heads, config().head_width());
  }
  Projection KeyValue(const PackedLinear& weight, const AppendKeyValueArgs& args, const int32_t* rotary_positions) {
    Projection made = Rotated(weight, args.rows, key_value_, rotary_positions, config().heads, config().head_width());
    made.key_value = &args;
    return made;
  }
  Projection SelectionQuery(const PackedLinear& weight, Rows rows, const int32_t* rotary_positions) {
    return Rotated(weight, rows, selection_query_, rotary_positions, 1, config().selection.width);
  }
  Projection SelectionKey(const PackedLinear& weight, const AppendSelectionArgs& args,
                          const int32_t* rotary_positions) {
    Projection made = Rotated(weight, args.rows, selection_key_, rotary_positions, 1, config().selection.width);
    made.selection = &args;
    return made;
  }
  // Their results: [rows, d], [rows, 2 d], [rows, ds], [rows, ds].
  const float* queries() const { return query_.data(); }
  const float* key_values() const { return key_value_.data(); }
  const float* selection_queries() const { return selection_query_.data(); }
  const float* selection_keys() const { return selection_key_.data(); }

  // norm(x) of the rows; `set` selects the norm weights of each row. [rows, d]
  const float* Normed(const float* x, Rows rows, const NormWeights& norm, const int32_t* set) {
    backend_.LayerNorm({.rows = rows,
                        .input = x,
                        .width = config().d_model,
                        .weight = norm.weight.data(),
                        .bias = norm.bias.data(),
                        .set = set,
                        .epsilon = config().layer_norm_epsilon,
                        .output = normed_.data()});
    return normed_.data();
  }

  // x += `weight` applied to the block's result; then the norm, if the model is post-norm.
  void AddTo(States& states, Rows rows, const PackedLinear& weight, const float* result, const NormWeights& norm) {
    backend_.Linear(Adding(states, rows, weight, result));
    EndBlock(states, rows, norm);
  }

  // x += the output of a recurrence over the block's input; then the norm, if the model is post-norm.
  void Recur(States& states, Rows rows, const PackedLinear& weight, const NormWeights& norm, const KvPages& store,
             int32_t layer, const KeyView* views) {
    const Projection made[] = {{.rows = rows, .weight = &weight, .output = key_value_.data()}};
    Project(states, rows, norm, made);
    backend_.Ssru(
        {.rows = rows, .input = key_value_.data(), .store = store, .layer = layer, .views = views, .states = states.x});
    EndBlock(states, rows, norm);
  }

  // Applies the norm that is due, if any. The states are at `to` then, which is either of the stream's two arrays.
  void ApplyDueNorm(States& states, Rows rows, float* to) {
    if (states.due != nullptr) {
      Norm(states.x, rows, *states.due, to);
      states.due = nullptr;
      if (states.x != to) std::swap(states.x, states.spare);
    }
    SALIENT_DCHECK(states.x == to);
  }

  float* attended() { return attended_.data(); }

  void FeedForward(States& states, Rows rows, const LayerWeights& layer) {
    if (layer.ffn == nullptr) return;
    const Projection up[] = {
        {.rows = rows, .weight = layer.ffn->up.get(), .activation = config().activation, .output = hidden_.data()}};
    const ProjectArgs project = Projecting(states, rows, layer.ffn_norm, up);
    backend_.FeedForward(project, Adding(states, rows, *layer.ffn->down, hidden_.data()));
    EndBlock(states, rows, layer.ffn_norm);
  }

 private:
  static size_t Size(int32_t rows, int32_t width) { return static_cast<size_t>(rows) * width; }
  const ModelConfig& config() const { return model_.config; }

  // The beginning of a block; the stream goes on with its normed states if their norm was due.
  ProjectArgs Projecting(States& states, Rows rows, const NormWeights& norm, std::span<const Projection> projections) {
    const NormWeights* first = config().pre_norm ? &norm : states.due;
    const ProjectArgs args = {.norm = {.rows = rows,
                                       .input = states.x,
                                       .width = config().d_model,
                                       .weight = first != nullptr ? first->weight.data() : nullptr,
                                       .bias = first != nullptr ? first->bias.data() : nullptr,
                                       .epsilon = config().layer_norm_epsilon,
                                       .output = normed_.data()},
                              .projections = projections,
                              .normed = states.due != nullptr ? states.spare : nullptr};
    if (states.due != nullptr) std::swap(states.x, states.spare);
    states.due = nullptr;
    return args;
  }

  LinearArgs Adding(const States& states, Rows rows, const PackedLinear& weight, const float* result) {
    return {.weight = &weight, .rows = rows, .input = result, .output = states.x, .scatter = true, .accumulate = true};
  }

  void EndBlock(States& states, Rows rows, const NormWeights& norm) {
    if (config().pre_norm) return;
    if (states.spare != nullptr) {
      states.due = &norm;
    } else {
      Norm(states.x, rows, norm, states.x);
    }
  }

  // to = norm(x), which may be the same memory.
  void Norm(const float* x, Rows rows, const NormWeights& norm, float* to) {
    backend_.LayerNorm({.rows = rows,
                        .input = x,
                        .width = config().d_model,
                        .weight = norm.weight.data(),
                        .bias = norm.bias.data(),
                        .epsilon = config().layer_norm_epsilon,
                        .output = to,
                        .scatter = true});
  }

  Projection Rotated(const PackedLinear& weight, Rows rows, DeviceArray<float>& output, const int32_t* rotary_positions,
                     int32_t heads, int32_t head_width) {
    return {.rows = rows,
            .weight = &weight,
            .output = output.data(),
            .rotary_positions = rotary_positions,
            .heads = heads,
            .head_width = head_width,
            .base = config().rotary_base};
  }

  const Model& model_;
  Backend& backend_;
  DeviceArray<float> normed_, query_, key_value_, attended_, hidden_, selection_query_, selection_key_;
};

// Selection rules by row, for each group of layers that share a selection.
inline std::vector<StagedArray<SelectionRule>> RuleArrays(Staging& staging, int32_t groups, int32_t rows) {
  std::vector<StagedArray<SelectionRule>> made;
  for (int32_t g = 0; g < groups; ++g) made.emplace_back(staging, rows);
  return made;
}

// The key lists of the queries of a step or a pass, by row number, with room for the keys that any selection layer may
// select. The memory grows and is never freed.
class KeyListArena {
 public:
  // Adds the lists to `staging`.
  KeyListArena(Backend& backend, Staging& staging, int32_t rows) : backend_(backend), lists_(staging, rows) {}

  // Gives every row's list room for the keys that `rules` [groups][.] can select from views[row], also after the view
  // has grown by `growth`. All arguments are read on the host. The lists are uploaded with their staging.
  void Assign(Rows rows, const KeyView* views, std::span<const StagedArray<SelectionRule>> rules, int32_t growth = 0) {
    size_t needed = 0;
    for (int32_t i = 0; i < rows.size(); ++i) needed += Room(Grown(views[rows[i]], growth), rules, rows[i]);
    if (needed > positions_.size()) positions_ = backend_.Array<int32_t>(needed + needed / 2);
    int32_t* next = positions_.data();
    for (int32_t i = 0; i < rows.size(); ++i) {
      const int32_t row = rows[i];
      lists_.data()[row] = KeyList{next, kEveryKey};
      next += Room(Grown(views[row], growth), rules, row);
    }
  }

  KeyList* lists() { return lists_.device(); }
  const StagedArray<KeyList>& staged() const { return lists_; }

 private:
  static KeyView Grown(KeyView view, int32_t growth) {
    view.length += growth;
    return view;
  }
  static size_t Room(const KeyView& view, std::span<const StagedArray<SelectionRule>> rules, int32_t row) {
    size_t most = 0;
    for (const StagedArray<SelectionRule>& group : rules) most = std::max(most, Room(view, group.data()[row]));
    return most;
  }
  static size_t Room(const KeyView& view, const SelectionRule& rule) {
    return rule.policy == SelectionPolicy::kDense ? 0 : KeysToKeep(rule, view.length);
  }

  Backend& backend_;
  StagedArray<KeyList> lists_;
  DeviceArray<int32_t> positions_;
};

}  // namespace salient

#include "engine/model/output_layer.h"

#include <algorithm>

namespace salient {

OutputLayer::OutputLayer(const Model& model, Backend& backend, Block& block, DecoderRows& at, const float* states,
                         int32_t rows)
    : model_(model),
      config_(model.config),
      backend_(backend),
      block_(block),
      at_(at),
      states_(states),
      max_rows_(rows),
      logits_(backend.Array<float>(static_cast<size_t>(rows) * model.config.vocab_size)),
      picked_(backend.Array<int32_t>(rows)),
      picked_count_(backend.Array<int32_t>(1)),
      settled_(rows) {
  std::vector<int32_t> numbers;
  for (int32_t n = 0; n <= config_.decoder.layers; ++n) numbers.insert(numbers.end(), rows, n);
  exit_number_ = OnDevice(backend.memory(), numbers);
}

void OutputLayer::Begin() {
  std::fill(settled_.begin(), settled_.end(), 0);
  scored_.clear();
}

void OutputLayer::Confidence(int32_t n, Rows among, float* probability) {
  const Rows rows = Picked(among);
  backend_.PickRows({.rows = among,
                     .filter = RowFilter::kComparesConfidence,
                     .layer = n,
                     .rules = at_.exit_rule.device(),
                     .picked = picked_.data(),
                     .count = picked_count_.data()});
  const bool screened = HaveOwnClassifiers(rows, at_.screen) && !HaveOwnClassifiers(rows, at_.tokens);
  const Rows passed = screened ? PassedByScreens(rows, n, probability) : rows;
  if (IsKnownEmpty(passed)) return scored_.clear();
  Score(passed, n, exit_number_.data() + n * max_rows_);
  for (const Scored& scored : scored_) {
    backend_.TopProbability({.rows = scored.rows, .logits = scored.logits, .probability = probability});
    if (screened || scored.logits.compact || !MayHaveScreens(scored.rows)) continue;
    Logits on_screen = scored.logits;
    on_screen.lists = at_.screen.device();
    backend_.TopProbability({.rows = scored.rows, .logits = on_screen, .probability = probability, .lower = true});
  }
}

bool OutputLayer::MayHaveScreens(const Rows& rows) const {
  if (!backend_.host_addressable()) return true;
  for (int32_t i = 0; i < rows.size(); ++i) {
    if (at_.screen.data()[rows[i]] != nullptr) return true;
  }
  return false;
}

// The rows whose screens say that they may exit. The whole vocabulary then decides.
Rows OutputLayer::PassedByScreens(Rows rows, int32_t n, float* probability) {
  ScoreByChunk(rows, exit_number_.data() + n * max_rows_, at_.screen.device());
  for (const Scored& scored : scored_) {
    backend_.TopProbability({.rows = scored.rows, .logits = scored.logits, .probability = probability});
  }
  passed_.clear();
  for (int32_t i = 0; i < rows.size(); ++i) {
    if (probability[rows[i]] > at_.exit_rule.data()[rows[i]].thresholds[n - 1]) passed_.push_back(rows[i]);
  }
  return {passed_.data(), nullptr, static_cast<int32_t>(passed_.size())};
}

void OutputLayer::Settle(Rows staying, int32_t width) {
  if (!backend_.host_addressable()) return;
  const int32_t* const end = staying.index + staying.size();
  for (const Scored& scored : scored_) {
    const Rows& rows = scored.rows;
    for (int32_t i = 0; i < rows.size(); ++i) {
      if (std::binary_search(staying.index, end, rows[i])) continue;
      Logits logits = scored.logits;
      logits.values += static_cast<size_t>(i) * logits.width;
      FindCandidates({rows.index + i, nullptr, 1}, logits, width);
      settled_[rows[i]] = 1;
    }
  }
  scored_.clear();
}

const float* OutputLayer::States(Rows rows, const int32_t* set) {
  if (config_.pre_norm) return block_.Normed(states_, rows, model_.exit_norms, set);
  backend_.GatherRows({rows, states_, config_.d_model, block_.attended()});
  return block_.attended();
}

// Logits of the rows by the classifier of `exit_layer`. `set` names the norms of each row.
void OutputLayer::Score(Rows rows, int32_t exit_layer, const int32_t* set) {
  scored_.clear();
  if (HaveOwnClassifiers(rows, at_.tokens)) return ScoreByChunk(rows, set, at_.tokens.device());
  backend_.Linear(
      {.weight = &model_.classifier(exit_layer), .rows = rows, .input = States(rows, set), .output = logits_.data()});
  scored_.push_back({rows, {logits_.data(), config_.vocab_size, at_.tokens.device()}});
}

// Whether each of the rows has a list and a classifier of just its tokens. One row without makes a product over the
// vocabulary necessary, which then serves all rows.
bool OutputLayer::HaveOwnClassifiers(const Rows& rows, const StagedArray<const TokenList*>& lists) const {
  if (!backend_.host_addressable()) return false;
  for (int32_t i = 0; i < rows.size(); ++i) {
    if (lists.data()[rows[i]] == nullptr || at_.own_classifier[rows[i]] == nullptr) return false;
  }
  return true;
}

void OutputLayer::ScoreByChunk(Rows rows, const int32_t* set, const TokenList* const* lists) {
  scored_.clear();
  by_chunk_.assign(rows.index, rows.index + rows.size());
  float* logits = logits_.data();
  for (auto first = by_chunk_.begin(); first != by_chunk_.end();) {
    const PackedLinear* own = at_.own_classifier[*first];
    const auto last =
        std::stable_partition(first, by_chunk_.end(), [&](int32_t row) { return at_.own_classifier[row] == own; });
    const Rows of_chunk{&*first, nullptr, static_cast<int32_t>(last - first)};
    backend_.Linear({.weight = own, .rows = of_chunk, .input = States(of_chunk, set), .output = logits});
    scored_.push_back({of_chunk, {logits, own->outputs(), lists, true}});
    logits += static_cast<size_t>(of_chunk.capacity) * own->outputs();
    first = last;
  }
}

void OutputLayer::FindCandidates(Rows rows, const Logits& logits, int32_t width) {
  backend_.Candidates({.rows = rows,
                       .logits = logits,
                       .special = config_.tokens,
                       .constraints = at_.constraint.device(),
                       .width = width,
                       .candidates = at_.candidates.device()});
}

// The rows whose candidates Settle has not found yet.
Rows OutputLayer::NotSettled(Rows rows) {
  if (!backend_.host_addressable()) return rows;
  unsettled_.clear();
  for (int32_t i = 0; i < rows.size(); ++i) {
    if (settled_[rows[i]] == 0) unsettled_.push_back(rows[i]);
  }
  return {unsettled_.data(), nullptr, static_cast<int32_t>(unsettled_.size())};
}

// Finds the candidates of all rows, each by the classifier of its exit.
void OutputLayer::Classify(Rows all, int32_t width) {
  const Rows rows = NotSettled(all);
  if (IsKnownEmpty(rows)) return;
  const bool tied = model_.has_tied_classifiers();
  for (int32_t n = 1; n <= (tied ? 1 : config_.decoder.layers); ++n) {
    Rows leaving = rows;
    if (!tied) {
      leaving = Picked(rows);
      backend_.PickRows({.rows = rows,
                         .filter = RowFilter::kLeft,
                         .layer = n,
                         .exit_at = at_.exit_at.device(),
                         .picked = picked_.data(),
                         .count = picked_count_.data()});
      if (IsKnownEmpty(leaving)) continue;
    }
    Score(leaving, n, at_.exit_at.device());
    for (const Scored& scored : scored_) FindCandidates(scored.rows, scored.logits, width);
  }
}

}  // namespace salient

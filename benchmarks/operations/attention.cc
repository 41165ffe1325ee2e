// Attention and selection: queries of decoding steps, and all queries of a document at once as an encoder has them.
//
// K and V are bf16. The steps use the layers, the documents and several lists of keys in turn. The store is too large
// for the second-level cache, as with a batch of documents.

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "benchmarks/operations/common.h"
#include "engine/attention/cpu/attend_rows.h"
#include "engine/attention/cpu/attend_tiles.h"
#include "engine/attention/select_rules.h"
#include "engine/base/thread_pool.h"

namespace salient::benchmarks {
namespace {

constexpr int64_t kStoreBytes = int64_t{256} << 20;
constexpr int32_t kChoices = 4;  // lists of keys per document, which steps use in turn
constexpr double kSparse = 0.05;
constexpr float kKeyInverseStep = 40.0f;

// Documents of one length in a store. Only one set of them is kept, because filling the store takes longer than timing.
class Documents {
 public:
  static Documents& Of(int32_t length, int32_t count, int threads) {
    static std::unique_ptr<Documents> last;
    if (last == nullptr || last->length_ != length || last->count() != count || last->threads_ != threads) {
      last = nullptr;
      last = std::unique_ptr<Documents>(new Documents(length, count, threads));
    }
    return *last;
  }
  // The number of documents that fills the store.
  static int32_t Most(int32_t length) {
    return static_cast<int32_t>(std::max<int64_t>(1, kStoreBytes / (int64_t{length} * kLayers * kWidth * 4)));
  }

  Backend& backend() { return *backend_; }
  KvPages store() { return store_.pages(); }
  int32_t count() const { return static_cast<int32_t>(pages_.size()); }
  KeyView View(int32_t document) const {
    return {.pages = pages_[document % count()].data(), .length = length_, .centre = length_ / 2};
  }
  double key_bytes() const { return static_cast<double>(store_.layout().row_bytes()); }

 private:
  Documents(int32_t length, int32_t count, int threads)
      : backend_(MakeCpuBackend({.threads = threads, .compute = ComputeType::kBF16})),
        length_(length),
        threads_(threads),
        store_(backend_->memory(),
               {.layers = kLayers,
                .width = kWidth,
                .groups = kGroups,
                .selection_width = kSelectionWidth,
                .type = ElementType::kBF16},
               count * KvStore::PagesFor(length)) {
    const std::vector<float> key_value = Normal(static_cast<size_t>(length) * 2 * kWidth);
    const std::vector<float> keys = Normal(static_cast<size_t>(length) * kSelectionWidth);
    std::vector<int32_t> positions(length);
    std::iota(positions.begin(), positions.end(), 0);
    for (int32_t d = 0; d < count; ++d) {
      pages_.emplace_back();
      for (int32_t i = 0; i < KvStore::PagesFor(length); ++i) pages_.back().push_back(store_.Take());
      const std::vector<KeyView> views(length, KeyView{.pages = pages_.back().data()});
      for (int32_t layer = 0; layer < kLayers; ++layer) {
        backend_->AppendKeyValue({.rows = Rows::First(length),
                                  .key_value = key_value.data(),
                                  .store = store_.pages(),
                                  .layer = layer,
                                  .views = views.data(),
                                  .positions = positions.data()});
      }
      for (int32_t group = 0; group < kGroups; ++group) {
        backend_->AppendSelection({.rows = Rows::First(length),
                                   .keys = keys.data(),
                                   .key_inverse_step = kKeyInverseStep,
                                   .store = store_.pages(),
                                   .group = group,
                                   .views = views.data(),
                                   .positions = positions.data()});
      }
    }
  }

  std::unique_ptr<Backend> backend_;
  int32_t length_;
  int threads_;
  KvStore store_;
  std::vector<std::vector<int32_t>> pages_;
};

// `keep` different positions below `length`, ascending.
std::vector<int32_t> RandomPositions(int32_t length, int32_t keep) {
  static std::minstd_rand random(11);
  std::vector<int32_t> chosen;
  for (int32_t i = 0; i < length; ++i) {
    const auto left = static_cast<uint32_t>(length - i);
    if (random() % left < static_cast<uint32_t>(keep) - chosen.size()) chosen.push_back(i);
  }
  return chosen;
}

int32_t Keep(int32_t length, bool sparse) {
  return sparse ? KeysToKeep({SelectionPolicy::kRatio, kSparse, 0}, length) : length;
}

// Multiplications and additions for scores and weighted sums, and the exponentials of softmax.
double AttentionOperations(double queries, double keys) {
  return queries * keys * (4.0 * kWidth + kHeads * kExponential);
}

// One decoding step of `rows` documents in one layer: one query per document.
void AttendStep(benchmark::State& state, int32_t length, int32_t rows, bool sparse, int threads) {
  const int32_t keep = Keep(length, sparse);
  Documents& documents = Documents::Of(length, std::max(rows, Documents::Most(length)), threads);
  const std::vector<float> queries = Normal(static_cast<size_t>(rows) * kWidth);
  std::vector<float> output(queries.size());
  std::vector<std::vector<int32_t>> choices;
  for (int32_t i = 0; i < documents.count() * kChoices; ++i) choices.push_back(RandomPositions(length, keep));
  std::vector<KeyView> views(rows);
  std::vector<KeyList> lists(rows);
  int32_t turn = 0;
  for (auto _ : state) {
    const int32_t step = turn / kLayers;
    for (int32_t row = 0; row < rows; ++row) {
      const int32_t document = step * rows + row;
      views[row] = documents.View(document);
      lists[row] = {choices[document % choices.size()].data(), sparse ? keep : kEveryKey};
    }
    documents.backend().Attend({.rows = Rows::First(rows),
                                .queries = queries.data(),
                                .heads = kHeads,
                                .store = documents.store(),
                                .layer = turn++ % kLayers,
                                .views = views.data(),
                                .lists = lists.data(),
                                .output = output.data(),
                                .few_a_document = true});
    benchmark::DoNotOptimize(output.data());
  }
  const double key_bytes = documents.key_bytes(), all = key_bytes * length * kLayers * documents.count();
  Report(state, {.bytes = rows * (keep * key_bytes + 8.0 * kWidth),
                 .operations = AttentionOperations(rows, keep),
                 .footprint = std::min(all, keep * key_bytes * kLayers * documents.count() * kChoices)});
}

// All queries of one document in one layer, each with its own keys.
struct DocumentQueries {
  DocumentQueries(Documents& documents, int32_t length, int32_t keep)
      : queries(Normal(static_cast<size_t>(length) * kWidth)),
        output(queries.size()),
        views(length, documents.View(0)) {
    for (int32_t i = 0; i < length; ++i) positions.push_back(RandomPositions(length, keep));
    for (auto& list : positions) lists.push_back({list.data(), keep < length ? keep : kEveryKey});
    args = {.rows = Rows::First(length),
            .queries = queries.data(),
            .heads = kHeads,
            .store = documents.store(),
            .layer = 0,
            .views = views.data(),
            .lists = lists.data(),
            .output = output.data()};
  }

  std::vector<float> queries, output;
  std::vector<KeyView> views;
  std::vector<std::vector<int32_t>> positions;
  std::vector<KeyList> lists;
  AttendArgs args;
};

void ReportDocument(benchmark::State& state, int32_t length, int32_t keep, const Documents& documents) {
  const double bytes = length * (documents.key_bytes() + 8.0 * kWidth);
  Report(state, {.bytes = bytes,
                 .operations = AttentionOperations(length, keep),
                 .arithmetic = Arithmetic::kBF16,
                 .footprint = bytes});
}

void AttendDocument(benchmark::State& state, int32_t length, bool sparse, int threads) {
  const int32_t keep = Keep(length, sparse);
  Documents& documents = Documents::Of(length, 1, threads);
  DocumentQueries document(documents, length, keep);
  for (auto _ : state) {
    documents.backend().Attend(document.args);
    benchmark::DoNotOptimize(document.output.data());
  }
  ReportDocument(state, length, keep, documents);
}

// The same, with the given one of the CPU's two implementations instead of the one that it would choose.
enum class Way { kRows, kTiles };

void AttendOneWay(benchmark::State& state, int32_t length, int32_t percent, Way way, int threads) {
  const int32_t keep = KeysToKeep({SelectionPolicy::kRatio, percent / 100.0, 0}, length);
  Documents& documents = Documents::Of(length, 1, threads);
  DocumentQueries document(documents, length, keep);
  ThreadPool pool(threads);
  std::vector<int32_t> rows(length), left;
  std::iota(rows.begin(), rows.end(), 0);
  for (auto _ : state) {
    if (way == Way::kRows) {
      AttendRows(document.args, rows, pool);
    } else {
      ForgetPackedKeys(document.args);
      AttendTiles(document.args, {0, length}, 0, pool, left);
    }
    benchmark::DoNotOptimize(document.output.data());
  }
  ReportDocument(state, length, keep, documents);
}

double SelectionOperations(double queries, double keys) { return queries * keys * (2.0 * kSelectionWidth + 1); }

// Selects the keys of a step of `rows` documents: scores, then the best.
void SelectStep(benchmark::State& state, int32_t length, int32_t rows, SelectionRule rule, int threads) {
  Documents& documents = Documents::Of(length, std::max(rows, Documents::Most(length)), threads);
  const std::vector<float> queries = Normal(static_cast<size_t>(rows) * kSelectionWidth);
  std::vector<int32_t> positions(static_cast<size_t>(rows) * length);
  const std::vector<SelectionRule> rules(rows, rule);
  std::vector<KeyView> views(rows);
  std::vector<KeyList> lists(rows);
  int32_t turn = 0;
  for (auto _ : state) {
    const int32_t step = turn / kGroups;
    for (int32_t row = 0; row < rows; ++row) {
      views[row] = documents.View(step * rows + row);
      lists[row].positions = positions.data() + static_cast<size_t>(row) * length;
    }
    documents.backend().Select({.rows = Rows::First(rows),
                                .queries = queries.data(),
                                .key_inverse_step = kKeyInverseStep,
                                .store = documents.store(),
                                .group = turn++ % kGroups,
                                .views = views.data(),
                                .rules = rules.data(),
                                .lists = lists.data()});
    benchmark::DoNotOptimize(positions.data());
  }
  const double keys = static_cast<double>(rows) * length;
  Report(state, {.bytes = keys * kSelectionWidth,
                 .operations = SelectionOperations(rows, length),
                 .arithmetic = Arithmetic::kInt8Vectors,
                 .footprint = static_cast<double>(length) * kSelectionWidth * kGroups * documents.count()});
}

// Selects the keys of all queries of one document.
void SelectDocument(benchmark::State& state, int32_t length, int threads) {
  Documents& documents = Documents::Of(length, 1, threads);
  const std::vector<float> queries = Normal(static_cast<size_t>(length) * kSelectionWidth);
  const std::vector<KeyView> views(length, documents.View(0));
  const std::vector<SelectionRule> rules(length, SelectionRule{SelectionPolicy::kRatio, kSparse, 10});
  std::vector<int32_t> positions(static_cast<size_t>(length) * length);
  std::vector<KeyList> lists(length);
  for (int32_t i = 0; i < length; ++i) lists[i].positions = positions.data() + static_cast<size_t>(i) * length;
  for (auto _ : state) {
    documents.backend().Select({.rows = Rows::First(length),
                                .queries = queries.data(),
                                .key_inverse_step = kKeyInverseStep,
                                .store = documents.store(),
                                .group = 0,
                                .views = views.data(),
                                .rules = rules.data(),
                                .lists = lists.data()});
    benchmark::DoNotOptimize(positions.data());
  }
  const double bytes = length * 5.0 * kSelectionWidth + 4.0 * length * Keep(length, true);
  Report(state, {.bytes = bytes,
                 .operations = SelectionOperations(length, length),
                 .arithmetic = Arithmetic::kInt8,
                 .footprint = bytes});
}

}  // namespace

void RegisterAttention(int threads) {
  const SelectionRule best = {SelectionPolicy::kRatio, kSparse, 10}, mass = {SelectionPolicy::kMass, 0.95, 10};
  for (const int32_t length : {128, 512, 2048, 8192}) {
    for (const int32_t rows : {1, 16}) {
      if (rows * length > 16 * 2048) continue;
      const std::string at = "/length:" + std::to_string(length) + "/rows:" + std::to_string(rows);
      Register("attention, step/dense" + at, AttendStep, length, rows, false, threads);
      Register("attention, step/5 %" + at, AttendStep, length, rows, true, threads);
      Register("selection, step/5 %" + at, SelectStep, length, rows, best, threads);
      if (rows == 1) Register("selection, step/mass 0.95" + at, SelectStep, length, rows, mass, threads);
    }
  }
  for (const int32_t length : {512, 2048, 8192}) {
    const std::string at = "/length:" + std::to_string(length);
    Register("attention, document/dense" + at, AttendDocument, length, false, threads);
    Register("attention, document/5 %" + at, AttendDocument, length, true, threads);
    Register("selection, document/5 %" + at, SelectDocument, length, threads);
  }
  for (const int32_t length : {256, 512, 1024, 2048, 4096}) {
    for (const int32_t percent : {2, 3, 5, 7, 10, 20, 50, 80}) {
      const std::string at = "/length:" + std::to_string(length) + "/percent:" + std::to_string(percent);
      Register("crossover/rows" + at, AttendOneWay, length, percent, Way::kRows, threads);
      Register("crossover/tiles" + at, AttendOneWay, length, percent, Way::kTiles, threads);
    }
  }
}

}  // namespace salient::benchmarks

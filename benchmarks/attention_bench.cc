// Attention and selection: one decoding query, dense and sparse, and a whole document's queries.
//
//   attention_bench --benchmark_filter=Decode --benchmark_repetitions=5
//   SALIENT_CPU_ISA=avx2 attention_bench
//
// Shape: width 512 in 8 heads, selection width 64, bf16. Decoding goes through the layers and documents of a store that
// no cache holds, as a batch of documents does. bytes_per_second counts the K and V (or selection keys) read, to be
// held against the memory's bandwidth; items_per_second counts multiply-adds, to be held against the peak. On a shared
// machine compare the minimum of repetitions.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "engine/backend/backend.h"

namespace salient {
namespace {

constexpr int32_t kWidth = 512, kHeads = 8, kSelectionWidth = 64, kLayers = 6, kGroups = 2;
constexpr int64_t kStoreBytes = int64_t{256} << 20;

std::vector<float> Normal(size_t n) {
  static std::minstd_rand random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

// Documents of one length that fill the store.
class Bench {
 public:
  Bench(int32_t length, int32_t documents, int threads)
      : backend_(MakeCpuBackend({.threads = threads, .compute = ComputeType::kBF16})),
        length_(length),
        store_(backend_->memory(),
               {.layers = kLayers,
                .width = kWidth,
                .groups = kGroups,
                .selection_width = kSelectionWidth,
                .type = ElementType::kBF16},
               documents * KvStore::PagesFor(length)) {
    const std::vector<float> key_value = Normal(static_cast<size_t>(length) * 2 * kWidth);
    const std::vector<float> keys = Normal(static_cast<size_t>(length) * kSelectionWidth);
    std::vector<int32_t> positions(length);
    for (int32_t i = 0; i < length; ++i) positions[i] = i;
    for (int32_t d = 0; d < documents; ++d) {
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
                                   .key_inverse_step = 40.0f,
                                   .store = store_.pages(),
                                   .group = group,
                                   .views = views.data(),
                                   .positions = positions.data()});
      }
    }
  }

  static int32_t DocumentsFor(int32_t length) {
    const int64_t bytes = int64_t{length} * kLayers * kWidth * 4;
    return static_cast<int32_t>(std::max<int64_t>(1, kStoreBytes / bytes));
  }

  Backend& backend() { return *backend_; }
  KvPages store() { return store_.pages(); }
  int32_t documents() const { return static_cast<int32_t>(pages_.size()); }
  KeyView View(int32_t document) const {
    return {.pages = pages_[document].data(), .length = length_, .centre = length_ / 2};
  }

 private:
  std::unique_ptr<Backend> backend_;
  int32_t length_;
  KvStore store_;
  std::vector<std::vector<int32_t>> pages_;
};

// `keep` of `length` positions, ascending.
std::vector<int32_t> RandomPositions(int32_t length, int32_t keep) {
  static std::minstd_rand random(11);
  std::vector<int32_t> all(length);
  for (int32_t i = 0; i < length; ++i) all[i] = i;
  std::shuffle(all.begin(), all.end(), random);
  all.resize(keep);
  std::sort(all.begin(), all.end());
  return all;
}

// One query of each document in turn, through all layers. Arguments: length, per cent kept, threads.
void DecodeAttend(benchmark::State& state) {
  const int32_t length = static_cast<int32_t>(state.range(0));
  const int32_t keep = KeysToKeep({SelectionKind::kFraction, static_cast<float>(state.range(1)) / 100, 0}, length);
  Bench bench(length, Bench::DocumentsFor(length), static_cast<int>(state.range(2)));
  const std::vector<float> query = Normal(kWidth);
  std::vector<float> output(kWidth);
  std::vector<std::vector<int32_t>> positions;
  for (int32_t d = 0; d < bench.documents(); ++d) positions.push_back(RandomPositions(length, keep));
  int32_t turn = 0;
  for (auto _ : state) {
    const int32_t document = turn / kLayers % bench.documents();
    const KeyView view = bench.View(document);
    KeyList list = {.positions = positions[document].data(), .count = keep == length ? kEveryKey : keep};
    bench.backend().Attend({.rows = Rows::First(1),
                            .queries = query.data(),
                            .heads = kHeads,
                            .store = bench.store(),
                            .layer = turn++ % kLayers,
                            .views = &view,
                            .lists = &list,
                            .output = output.data()});
    benchmark::DoNotOptimize(output.data());
  }
  state.SetBytesProcessed(state.iterations() * keep * 2 * kWidth * 2);
  state.SetItemsProcessed(state.iterations() * keep * 2 * kWidth);
}
BENCHMARK(DecodeAttend)
    ->ArgNames({"length", "percent", "threads"})
    ->ArgsProduct({{128, 512, 2048, 8192}, {100, 5}, {1, 2}})
    ->UseRealTime();

// Arguments: length, 0 for a fraction of 5 % or 1 for a mass of 0.95.
void DecodeSelect(benchmark::State& state) {
  const int32_t length = static_cast<int32_t>(state.range(0));
  const SelectionRule rule = state.range(1) == 0 ? SelectionRule{SelectionKind::kFraction, 0.05f, 10}
                                                 : SelectionRule{SelectionKind::kMass, 0.95f, 10};
  Bench bench(length, Bench::DocumentsFor(length), 1);
  const std::vector<float> query = Normal(kSelectionWidth);
  std::vector<int32_t> positions(length);
  int32_t turn = 0;
  for (auto _ : state) {
    const KeyView view = bench.View(turn / kGroups % bench.documents());
    KeyList list = {.positions = positions.data()};
    bench.backend().Select({.rows = Rows::First(1),
                            .queries = query.data(),
                            .key_inverse_step = 40.0f,
                            .store = bench.store(),
                            .group = turn++ % kGroups,
                            .views = &view,
                            .rules = &rule,
                            .lists = &list});
    benchmark::DoNotOptimize(positions.data());
  }
  state.SetBytesProcessed(state.iterations() * length * kSelectionWidth);
  state.SetItemsProcessed(state.iterations() * length * kSelectionWidth);
}
BENCHMARK(DecodeSelect)->ArgNames({"length", "mass"})->ArgsProduct({{128, 512, 2048, 8192}, {0, 1}})->UseRealTime();

// All queries of one document. Arguments: length, per cent kept, threads.
void EncodeAttend(benchmark::State& state) {
  const int32_t length = static_cast<int32_t>(state.range(0));
  const int32_t keep = KeysToKeep({SelectionKind::kFraction, static_cast<float>(state.range(1)) / 100, 0}, length);
  Bench bench(length, 1, static_cast<int>(state.range(2)));
  const std::vector<float> queries = Normal(static_cast<size_t>(length) * kWidth);
  std::vector<float> output(queries.size());
  const std::vector<KeyView> views(length, bench.View(0));
  std::vector<std::vector<int32_t>> positions;
  std::vector<KeyList> lists;
  for (int32_t i = 0; i < length; ++i) positions.push_back(RandomPositions(length, keep));
  for (auto& list : positions) lists.push_back({list.data(), keep == length ? kEveryKey : keep});
  for (auto _ : state) {
    bench.backend().Attend({.rows = Rows::First(length),
                            .queries = queries.data(),
                            .heads = kHeads,
                            .store = bench.store(),
                            .layer = 0,
                            .views = views.data(),
                            .lists = lists.data(),
                            .output = output.data()});
    benchmark::DoNotOptimize(output.data());
  }
  state.SetItemsProcessed(state.iterations() * length * keep * 2 * kWidth);
}
BENCHMARK(EncodeAttend)
    ->ArgNames({"length", "percent", "threads"})
    ->ArgsProduct({{256, 512, 2048}, {100, 10, 9, 5}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Selection of all queries of one document. Arguments: length, threads.
void EncodeSelect(benchmark::State& state) {
  const int32_t length = static_cast<int32_t>(state.range(0));
  Bench bench(length, 1, static_cast<int>(state.range(1)));
  const std::vector<float> queries = Normal(static_cast<size_t>(length) * kSelectionWidth);
  const std::vector<KeyView> views(length, bench.View(0));
  const std::vector<SelectionRule> rules(length, SelectionRule{SelectionKind::kFraction, 0.1f, 10});
  std::vector<int32_t> positions(static_cast<size_t>(length) * length);
  std::vector<KeyList> lists(length);
  for (int32_t i = 0; i < length; ++i) lists[i].positions = positions.data() + static_cast<size_t>(i) * length;
  for (auto _ : state) {
    bench.backend().Select({.rows = Rows::First(length),
                            .queries = queries.data(),
                            .key_inverse_step = 40.0f,
                            .store = bench.store(),
                            .group = 0,
                            .views = views.data(),
                            .rules = rules.data(),
                            .lists = lists.data()});
    benchmark::DoNotOptimize(positions.data());
  }
  state.SetItemsProcessed(state.iterations() * length * length * kSelectionWidth);
}
BENCHMARK(EncodeSelect)
    ->ArgNames({"length", "threads"})
    ->ArgsProduct({{256, 2048}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace salient

BENCHMARK_MAIN();

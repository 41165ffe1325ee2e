#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>

#include "benchmarks/device/bench.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/core/kv_store.h"

namespace salient {
namespace {

struct AttentionCase {
  const char* name;
  int32_t rows, length, listed;  // listed: keys each row reads; 0: all
  int32_t dense = 0;             // where rows choose their keys: so many of them read all
};

// Rows of a document each, of which every layer's keys are read in turn, so that none is left in a cache.
class AttentionBench {
 public:
  AttentionBench(Backend& backend, const AttentionCase& attention) : backend_(backend), case_(attention) {
    const int32_t pages = KvStore::PagesFor(attention.length);
    store_ = std::make_unique<KvStore>(backend.memory(),
                                       KvLayout{.layers = kLayers,
                                                .width = kWidth,
                                                .groups = kLayers,
                                                .selection_width = kSelectionWidth,
                                                .type = backend.kv_type()},
                                       pages * case_.rows);
    std::vector<int32_t> table;
    for (int32_t page = 0; page < pages * case_.rows; ++page) table.push_back(store_->Take());
    table_ = OnDevice(backend.memory(), table);
    std::vector<int32_t> positions;
    std::mt19937 random(2);
    for (int32_t row = 0; row < case_.rows && case_.listed > 0; ++row) {
      std::vector<int32_t> all(case_.length), chosen;
      for (int32_t i = 0; i < case_.length; ++i) all[i] = i;
      std::sample(all.begin(), all.end(), std::back_inserter(chosen), case_.listed, random);
      positions.insert(positions.end(), chosen.begin(), chosen.end());
    }
    positions_ = OnDevice(backend.memory(), positions);
    std::vector<KeyView> views;
    std::vector<KeyList> lists;
    std::vector<SelectionRule> rules(case_.rows,
                                     {SelectionPolicy::kRatio, static_cast<double>(case_.listed) / case_.length, 0});
    std::fill_n(rules.begin(), case_.dense, SelectionRule{});
    for (int32_t row = 0; row < case_.rows; ++row) {
      views.push_back({.pages = table_.data() + row * pages, .length = case_.length});
      lists.push_back(
          {positions_.data() + static_cast<size_t>(row) * case_.listed, case_.listed > 0 ? case_.listed : kEveryKey});
    }
    views_ = OnDevice(backend.memory(), views);
    lists_ = OnDevice(backend.memory(), lists);
    rules_ = OnDevice(backend.memory(), rules);
    selection_queries_ = OnDevice(backend.memory(), Normal(static_cast<size_t>(case_.rows) * kSelectionWidth, 1));
    queries_ = OnDevice(backend.memory(), Normal(static_cast<size_t>(case_.rows) * kWidth, 1));
    output_ = backend.Array<float>(static_cast<size_t>(case_.rows) * kWidth);
    FillKeys();
  }

  // Seconds of one call: of attention alone, and with selection before it, in turns.
  struct Times {
    double attend, select_and_attend;
  };
  Times Measure() {
    std::vector<double> times[2];
    for (int round = 0; round < kRounds; ++round) {
      for (const bool select : {false, true}) {
        if (select && case_.listed == 0) continue;
        const Clock::time_point start = Clock::now();
        for (int32_t layer = 0; layer < kLayers; ++layer) Step(layer, select);
        Finish(backend_, output_);
        if (round > 1) times[select].push_back(Seconds(start) / kLayers);
      }
    }
    return {Median(times[0]), case_.listed == 0 ? 0 : Median(times[1])};
  }
  // What attention reads, and what selection does.
  double bytes() const {
    const int32_t listed = case_.listed > 0 ? case_.listed : case_.length;
    const double read = static_cast<double>(case_.rows - case_.dense) * listed + double{1} * case_.dense * case_.length;
    return read * static_cast<double>(store_->layout().row_bytes());
  }
  double selection_bytes() const {
    return static_cast<double>(case_.rows - case_.dense) * case_.length * kSelectionWidth;
  }

 private:
  static constexpr int32_t kWidth = 512, kHeads = 8, kLayers = 8, kSelectionWidth = 64;
  static constexpr int kRounds = 12;

  // Numbers as keys and values have them: what a memory of zeros gives is no measurement.
  void FillKeys() {
    const DeviceArray<float> values =
        OnDevice(backend_.memory(), Normal(static_cast<size_t>(case_.length) * 2 * kWidth, 1));
    const DeviceArray<float> keys =
        OnDevice(backend_.memory(), Normal(static_cast<size_t>(case_.length) * kSelectionWidth, 1));
    std::vector<int32_t> positions(case_.length);
    for (int32_t i = 0; i < case_.length; ++i) positions[i] = i;
    const DeviceArray<int32_t> on_device = OnDevice(backend_.memory(), positions);
    for (int32_t row = 0; row < case_.rows; ++row) {
      const std::vector<KeyView> views(case_.length, {.pages = table_.data() + row * KvStore::PagesFor(case_.length)});
      const DeviceArray<KeyView> views_on_device = OnDevice(backend_.memory(), views);
      for (int32_t layer = 0; layer < kLayers; ++layer) {
        backend_.AppendKeyValue({.rows = Rows::First(case_.length),
                                 .key_value = values.data(),
                                 .store = store_->pages(),
                                 .layer = layer,
                                 .views = views_on_device.data(),
                                 .positions = on_device.data()});
        backend_.AppendSelection({.rows = Rows::First(case_.length),
                                  .keys = keys.data(),
                                  .key_inverse_step = kKeyInverseStep,
                                  .store = store_->pages(),
                                  .group = layer,
                                  .views = views_on_device.data(),
                                  .positions = on_device.data()});
      }
      Finish(backend_, values);
    }
  }

  void Step(int32_t layer, bool select) {
    const Rows rows = Rows::First(case_.rows);
    if (select) {
      backend_.Select({.rows = rows,
                       .queries = selection_queries_.data(),
                       .key_inverse_step = kKeyInverseStep,
                       .store = store_->pages(),
                       .group = layer,
                       .views = views_.data(),
                       .rules = rules_.data(),
                       .lists = lists_.data()});
    }
    backend_.Attend({.rows = rows,
                     .queries = queries_.data(),
                     .heads = kHeads,
                     .store = store_->pages(),
                     .layer = layer,
                     .views = views_.data(),
                     .lists = lists_.data(),
                     .output = output_.data(),
                     .few_a_document = true});
  }

  Backend& backend_;
  const AttentionCase case_;
  std::unique_ptr<KvStore> store_;
  DeviceArray<int32_t> table_, positions_;
  DeviceArray<KeyView> views_;
  DeviceArray<KeyList> lists_;
  DeviceArray<SelectionRule> rules_;
  DeviceArray<float> selection_queries_, queries_, output_;
};

}  // namespace

// Bytes a second, read and written, of the device's own copy; rows copied as they are where it has none.
double CopySpeed(Backend& backend, bool small) {
  const int32_t rows = small ? 2000 : 400000;
  constexpr int32_t kWidth = 512;
  const DeviceArray<float> from = backend.Array<float>(static_cast<size_t>(rows) * kWidth);
  DeviceArray<float> to = backend.Array<float>(static_cast<size_t>(rows) * kWidth);
  std::vector<double> times;
  for (int round = 0; round < 7; ++round) {
    const Clock::time_point start = Clock::now();
    if (!cuda::CopyOnDevice(backend, to.data(), from.data(), from.size() * sizeof(float))) {
      backend.GatherRows({Rows::First(rows), from.data(), kWidth, to.data()});
    }
    Finish(backend, to);
    times.push_back(Seconds(start));
  }
  return 2.0 * rows * kWidth * sizeof(float) / Median(times);
}

void BenchAttention(Backend& backend, bool small, double copy_speed) {
  std::printf(
      "\n## Attention of a decoding step\n\nOne layer, width 512, 8 heads. The device's own copy: %.0f GB/s.\n\n",
      copy_speed / 1e9);
  std::printf(
      "| case | us a call | GB/s | of copying | with selection before it | GB/s |\n"
      "|---|---|---|---|---|---|\n");
  std::vector<AttentionCase> cases = {
      {"1 x 2,048 dense", 1, 2048, 0},      {"1 x 2,048, 5 %", 1, 2048, 102},
      {"16 x 2,048, 5 %", 16, 2048, 102},   {"64 x 2,048 dense", 64, 2048, 0},
      {"64 x 2,048, 5 %", 64, 2048, 102},   {"64 x 2,048, 5 %, one dense", 64, 2048, 102, 1},
      {"256 x 2,048, 5 %", 256, 2048, 102}, {"64 x 8,192 dense", 64, 8192, 0},
      {"64 x 8,192, 5 %", 64, 8192, 410},   {"64 x 8,192, 5 %, one dense", 64, 8192, 410, 1}};
  if (small)
    cases = {{"1 x 300 dense", 1, 300, 0}, {"4 x 300, 5 %", 4, 300, 15}, {"4 x 300, one dense", 4, 300, 15, 1}};
  for (const AttentionCase& one : cases) {
    AttentionBench bench(backend, one);
    const AttentionBench::Times times = bench.Measure();
    const double speed = bench.bytes() / times.attend;
    std::printf("| %s | %.1f | %.0f | %.0f %% |", one.name, times.attend * 1e6, speed / 1e9, 100 * speed / copy_speed);
    if (one.listed > 0) {
      std::printf(" %.1f | %.0f |\n", times.select_and_attend * 1e6,
                  (bench.bytes() + bench.selection_bytes()) / times.select_and_attend / 1e9);
    } else {
      std::printf(" | |\n");
    }
    std::fflush(stdout);
  }
}

}  // namespace salient

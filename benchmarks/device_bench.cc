// How fast a device attends and decodes, as Markdown tables.
//
//   device_bench [cuda|cuda-int8|cpu] [small]        `small`: shapes for rehearsing on a machine without a GPU
//
// Linear layers: with the rows known to the host, as an encoder's are, and counted on the device, as a step's are.
// Attention: one decoding step's calls for one layer, in bytes that must be read over time, beside the device's own
// copying speed; and selection with it, as one operation and as two. Decoding: random weights in the shape that the
// targets are given for (d 512, 8 heads, 6 + 6 layers, feed- forward 2,048, vocabulary 32,000), random sources, dense,
// with selection, and with selection and early exits. Each setting is measured in turn, over and over, and the median
// is told.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/backend/backend.h"
#include "engine/decode/batch.h"
#include "engine/decode/sequence.h"
#include "engine/model/model.h"

namespace salient {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::vector<float> Normal(size_t size, float deviation) {
  static std::mt19937 random(1);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

template <typename T>
DeviceArray<T> Upload(Backend& backend, const std::vector<T>& values) {
  DeviceArray<T> array = backend.Array<T>(values.size());
  backend.memory().CopyToDevice(array.data(), values.data(), values.size() * sizeof(T));
  return array;
}

// Waits until the device has done everything.
void Finish(Backend& backend, const DeviceArray<float>& any) {
  float value;
  backend.memory().CopyToHost(&value, any.data(), sizeof(value));
}

constexpr float kKeyInverseStep = 40.0f;

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
    table_ = Upload(backend, table);
    std::vector<int32_t> positions;
    std::mt19937 random(2);
    for (int32_t row = 0; row < case_.rows && case_.listed > 0; ++row) {
      std::vector<int32_t> all(case_.length), chosen;
      for (int32_t i = 0; i < case_.length; ++i) all[i] = i;
      std::sample(all.begin(), all.end(), std::back_inserter(chosen), case_.listed, random);
      positions.insert(positions.end(), chosen.begin(), chosen.end());
    }
    positions_ = Upload(backend, positions);
    std::vector<KeyView> views;
    std::vector<KeyList> lists;
    std::vector<SelectionRule> rules(case_.rows,
                                     {SelectionKind::kFraction, static_cast<double>(case_.listed) / case_.length, 0});
    std::fill_n(rules.begin(), case_.dense, SelectionRule{});
    for (int32_t row = 0; row < case_.rows; ++row) {
      views.push_back({.pages = table_.data() + row * pages, .length = case_.length});
      lists.push_back(
          {positions_.data() + static_cast<size_t>(row) * case_.listed, case_.listed > 0 ? case_.listed : kEveryKey});
    }
    views_ = Upload(backend, views);
    lists_ = Upload(backend, lists);
    rules_ = Upload(backend, rules);
    selection_queries_ = Upload(backend, Normal(static_cast<size_t>(case_.rows) * kSelectionWidth, 1));
    queries_ = Upload(backend, Normal(static_cast<size_t>(case_.rows) * kWidth, 1));
    output_ = backend.Array<float>(static_cast<size_t>(case_.rows) * kWidth);
    FillKeys();
  }

  // Seconds of one call: of attention alone, and of selection and attention as two operations and as one, in turns.
  struct Times {
    double attend, in_two, in_one;
  };
  Times Measure() {
    std::vector<double> times[3];
    for (int round = 0; round < kRounds; ++round) {
      for (int way = 0; way < (case_.listed > 0 ? 3 : 1); ++way) {
        const Clock::time_point start = Clock::now();
        for (int32_t layer = 0; layer < kLayers; ++layer) Step(layer, way);
        Finish(backend_, output_);
        if (round > 1) times[way].push_back(Seconds(start) / kLayers);
      }
    }
    if (case_.listed == 0) return {Median(times[0]), 0, 0};
    return {Median(times[0]), Median(times[1]), Median(times[2])};
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
    const DeviceArray<float> values = Upload(backend_, Normal(static_cast<size_t>(case_.length) * 2 * kWidth, 1));
    const DeviceArray<float> keys = Upload(backend_, Normal(static_cast<size_t>(case_.length) * kSelectionWidth, 1));
    std::vector<int32_t> positions(case_.length);
    for (int32_t i = 0; i < case_.length; ++i) positions[i] = i;
    const DeviceArray<int32_t> on_device = Upload(backend_, positions);
    for (int32_t row = 0; row < case_.rows; ++row) {
      const std::vector<KeyView> views(case_.length, {.pages = table_.data() + row * KvStore::PagesFor(case_.length)});
      const DeviceArray<KeyView> views_on_device = Upload(backend_, views);
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

  void Step(int32_t layer, int way) {
    const SelectArgs select{.rows = Rows::First(case_.rows),
                            .queries = selection_queries_.data(),
                            .key_inverse_step = kKeyInverseStep,
                            .store = store_->pages(),
                            .group = layer,
                            .views = views_.data(),
                            .rules = rules_.data(),
                            .lists = lists_.data()};
    const AttendArgs attend{.rows = select.rows,
                            .queries = queries_.data(),
                            .heads = kHeads,
                            .store = select.store,
                            .layer = layer,
                            .views = views_.data(),
                            .lists = lists_.data(),
                            .output = output_.data(),
                            .few_a_document = true};
    if (way == 2) return backend_.SelectAndAttend(select, attend);
    if (way == 1) backend_.Select(select);
    backend_.Attend(attend);
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

// Bytes a second, read and written, of the plainest kernel there is: rows copied as they are.
double CopySpeed(Backend& backend, bool small) {
  const int32_t rows = small ? 2000 : 400000;
  constexpr int32_t kWidth = 512;
  const DeviceArray<float> from = backend.Array<float>(static_cast<size_t>(rows) * kWidth);
  DeviceArray<float> to = backend.Array<float>(static_cast<size_t>(rows) * kWidth);
  std::vector<double> times;
  for (int round = 0; round < 7; ++round) {
    const Clock::time_point start = Clock::now();
    backend.GatherRows({Rows::First(rows), from.data(), kWidth, to.data()});
    Finish(backend, to);
    times.push_back(Seconds(start));
  }
  return 2.0 * rows * kWidth * sizeof(float) / Median(times);
}

void BenchAttention(Backend& backend, bool small) {
  const double ceiling = CopySpeed(backend, small);
  std::printf("\n## Attention of a decoding step\n\nOne layer, width 512, 8 heads. Copying rows: %.0f GB/s.\n\n",
              ceiling / 1e9);
  std::printf(
      "| case | us a call | GB/s | of copying | with selection before it | as one operation | GB/s |\n"
      "|---|---|---|---|---|---|---|\n");
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
    std::printf("| %s | %.1f | %.0f | %.0f %% |", one.name, times.attend * 1e6, speed / 1e9, 100 * speed / ceiling);
    if (one.listed > 0) {
      std::printf(" %.1f | %.1f | %.0f |\n", times.in_two * 1e6, times.in_one * 1e6,
                  (bench.bytes() + bench.selection_bytes()) / times.in_one / 1e9);
    } else {
      std::printf(" | | |\n");
    }
    std::fflush(stdout);
  }
}

// Makes up the tensors of a model as they are asked for by name.
class RandomWeights {
 public:
  void Linear(const std::string& name, int64_t inputs, int64_t outputs, bool bias = true) {
    Add(name + ".weight", {outputs, inputs}, 1 / std::sqrt(static_cast<float>(inputs)));
    if (bias) Add(name + ".bias", {outputs}, 0.1f);
  }
  void Norm(const std::string& name, int64_t d) {
    tensors_[name + ".weight"] = {{d}, std::vector<float>(d, 1.0f)};
    tensors_[name + ".bias"] = {{d}, std::vector<float>(d, 0.0f)};
  }
  void Attention(const std::string& name, const ModelConfig& config, bool cross, bool selects) {
    const int64_t d = config.d_model;
    if (cross) {
      Linear(name + ".query", d, d);
      Linear(name + ".key_value", d, 2 * d);
    } else {
      Linear(name + ".query_key_value", d, 3 * d);
    }
    Linear(name + ".output", d, d);
    Norm(name + "_norm", d);
    if (!selects) return;
    Linear(name + ".selection.query", d, config.selection.width, false);
    Linear(name + ".selection.key", d, config.selection.width, false);
    tensors_[name + ".selection.key_inverse_step"] = {{}, {40.0f}};
  }
  void Layer(const std::string& name, const ModelConfig& config, bool decoder, int32_t index) {
    const auto selects = [&](Module module) { return index % config.group_size(module) == 0; };
    Attention(name + ".self_attention", config, false, selects(decoder ? Module::kDecoder : Module::kEncoder));
    if (decoder) Attention(name + ".cross_attention", config, true, selects(Module::kCross));
    const int64_t width = decoder ? config.decoder.ffn_width : config.encoder.ffn_width;
    Norm(name + ".ffn_norm", config.d_model);
    Linear(name + ".ffn.up", config.d_model, width);
    Linear(name + ".ffn.down", width, config.d_model);
  }
  void Add(const std::string& name, const std::vector<int64_t>& shape, float deviation) {
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    tensors_[name] = {shape, Normal(size, deviation)};
  }
  void Forbid(const std::string& bias, int32_t token) { tensors_[bias].values[token] = -1e4f; }
  TensorFile Take() { return TensorFile(std::move(tensors_)); }

 private:
  std::map<std::string, Tensor> tensors_;
};

ModelConfig Config(bool small) {
  ModelConfig config;
  config.vocab_size = small ? 500 : 32000;
  config.d_model = small ? 64 : 512;
  config.heads = small ? 2 : 8;
  config.encoder = config.decoder = {small ? 2 : 6, FeedForwardKind::kOwn, small ? 128 : 2048};
  config.self_rotary = true;
  config.has_selection = true;
  config.selection.width = 64;
  config.selection.group = {3, 3, 3};
  for (int m = 0; m < kModules; ++m) {
    config.selection.key_fraction[m].assign(config.groups(static_cast<Module>(m)), 0.05);
  }
  config.has_exits = config.geometric_head = true;
  config.window = small ? 256 : 8192;
  return config;
}

TensorFile Weights(const ModelConfig& config) {
  RandomWeights weights;
  weights.Add("embedding.weight", {config.vocab_size, config.d_model}, 0.05f);
  weights.Add("output_bias", {config.vocab_size}, 0.1f);
  weights.Forbid("output_bias", config.tokens.end);  // or random weights would soon say that they are done
  for (int32_t i = 0; i < config.encoder.layers; ++i) {
    weights.Layer(absl::StrCat("encoder_layers.", i), config, false, i);
  }
  for (int32_t i = 0; i < config.decoder.layers; ++i) {
    weights.Layer(absl::StrCat("decoder_layers.", i), config, true, i);
    weights.Norm(absl::StrCat("exit_norms.", i), config.d_model);
  }
  weights.Norm("encoder_norm", config.d_model);
  weights.Linear("halting.geometric", config.d_model, config.decoder.layers);
  return weights.Take();
}

// Translations of random documents in a batch; they leave it at the end.
class Translations {
 public:
  Translations(const Model& model, Backend& backend, Batch& batch, const ResolvedOptions& options)
      : model_(model), backend_(backend), batch_(batch), options_(options) {}
  ~Translations() {
    for (const auto& sequence : sequences_) batch_.Leave(*sequence);
  }

  // One more, whose encoding begins.
  void Join(int32_t length) {
    windows_.push_back(std::make_unique<Window>());
    Window& window = *windows_.back();
    for (int32_t t = 0; t + 1 < length; ++t) {
      window.tokens.push_back(5 + static_cast<int32_t>(random_() % (model_.config.vocab_size - 5)));
    }
    window.tokens.push_back(model_.config.tokens.end);
    window.pieces.push_back({0, length - 1});
    sequences_.push_back(std::make_unique<Sequence>(window, options_, std::vector<int32_t>(), model_.config, backend_,
                                                    batch_.self_store(), batch_.cross_store()));
    Sequence* const joining[] = {sequences_.back().get()};
    batch_.Join(joining);
  }
  // The last one is encoded and begins to be decoded.
  void Seat() { batch_.Seat(*sequences_.back()); }
  int64_t tokens() const {
    int64_t sum = 0;
    for (const auto& sequence : sequences_) sum += sequence->tokens_so_far();
    return sum;
  }

 private:
  const Model& model_;
  Backend& backend_;
  Batch& batch_;
  const ResolvedOptions& options_;
  std::mt19937 random_{3};
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
};

// Until the device has something to do at every moment, and all graphs are made.
constexpr int kWarmSteps = 6;

struct DecodeCase {
  int32_t documents, length;
  int32_t beam = 1;
};

// Tokens a second that steps give, until `enough`.
template <typename Enough>
double TokensASecond(Batch& batch, const Translations& translations, const Enough& enough) {
  const int64_t before = translations.tokens();
  const Clock::time_point start = Clock::now();
  do {
    batch.Step();
  } while (!enough());
  return static_cast<double>(translations.tokens() - before) / Seconds(start);
}

// Makes `calls` steps, or groups of steps, after the first few; returns seconds a token of each document.
double Decode(const Model& model, Backend& backend, Batch& batch, const DecodeCase& decode,
              const ResolvedOptions& options, int32_t calls) {
  Translations translations(model, backend, batch, options);
  for (int32_t i = 0; i < decode.documents; ++i) {
    translations.Join(decode.length);
    batch.Encode(absl::InfiniteDuration());
    translations.Seat();
  }
  for (int warm = 0; warm < kWarmSteps; ++warm) batch.Step();
  return decode.documents / TokensASecond(batch, translations, [&] { return --calls <= 0; });
}

// A document is encoded while others are decoded: how long that takes, and how many tokens the others get meanwhile.
struct Overlap {
  double alone = 0, beside = 0;             // seconds of the encoding
  double tokens = 0, tokens_meanwhile = 0;  // a second
};

Overlap MeasureOverlap(const Model& model, Backend& backend, Batch& batch, const DecodeCase& decode,
                       const ResolvedOptions& options) {
  Overlap overlap;
  Translations translations(model, backend, batch, options);
  for (int32_t i = 0; i < decode.documents; ++i) {
    const Clock::time_point start = Clock::now();
    translations.Join(decode.length);
    batch.Encode(absl::InfiniteDuration());
    overlap.alone = Seconds(start);
    translations.Seat();
  }
  for (int warm = 0; warm < kWarmSteps; ++warm) batch.Step();
  int calls = 16;
  overlap.tokens = TokensASecond(batch, translations, [&] { return --calls <= 0; });
  const Clock::time_point start = Clock::now();
  translations.Join(decode.length);
  overlap.tokens_meanwhile = TokensASecond(batch, translations, [&] {
    batch.Encode(absl::Milliseconds(10));
    return !batch.encoding();
  });
  overlap.beside = Seconds(start);
  return overlap;
}

void BenchOverlap(const Model& model, Backend& backend, const ResolvedOptions& options, bool small) {
  const DecodeCase decode = small ? DecodeCase{3, 100} : DecodeCase{31, 2048};
  Batch batch(model, backend,
              {.max_rows = 64,
               .encode_tokens = decode.length,
               .encode_windows = 1,
               .kv_bytes = small ? 64LL << 20 : 20LL << 30});
  std::vector<double> alone, beside, tokens, meanwhile;
  for (int round = 0; round < 5; ++round) {
    const Overlap overlap = MeasureOverlap(model, backend, batch, decode, options);
    alone.push_back(overlap.alone);
    beside.push_back(overlap.beside);
    tokens.push_back(overlap.tokens);
    meanwhile.push_back(overlap.tokens_meanwhile);
  }
  std::printf(
      "\n## Encoding beside decoding\n\nA document of %d tokens joins %d that are decoded densely.\n\n"
      "| | alone | together |\n|---|---|---|\n| encoding | %.2f ms | %.2f ms |\n"
      "| decoding | %.0f tokens/s | %.0f tokens/s |\n",
      decode.length, decode.documents, Median(alone) * 1e3, Median(beside) * 1e3, Median(tokens), Median(meanwhile));
}

bool BenchDecoding(Backend& backend, bool small) {
  const ModelConfig config = Config(small);
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Build(config, Weights(config), backend);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().ToString().c_str());
    return false;
  }
  TranslationOptions dense, sparse, shallow;
  dense.selection.policy = SelectionPolicy::kDense;
  sparse.selection = {.policy = SelectionPolicy::kRatio, .value = 0.05};
  shallow.selection = sparse.selection;
  shallow.depth = {.policy = DepthPolicy::kGeometric, .thresholds = {0.5}};
  std::printf(
      "\n## Decoding\n\nMicroseconds a step, and tokens a second; median of interleaved runs.\n\n"
      "| case | dense | selection of 5 %% | and geometric exits |\n|---|---|---|---|\n");
  std::vector<DecodeCase> cases = {{1, 2048}, {64, 2048}, {64, 8192}, {16, 2048, 4}};
  if (small) cases = {{1, 100}, {4, 100}, {4, 100, 4}};
  for (const DecodeCase& one : cases) {
    const int64_t kv_bytes = small ? 64LL << 20 : one.length > 2048 ? 60LL << 30 : 20LL << 30;
    Batch batch(**model, backend,
                {.max_rows = 64, .encode_tokens = one.length, .encode_windows = 1, .kv_bytes = kv_bytes});
    std::vector<double> times[3];
    for (int round = 0; round < 3; ++round) {
      int column = 0;
      for (TranslationOptions options : {dense, sparse, shallow}) {
        options.search.beam = one.beam;
        absl::StatusOr<ResolvedOptions> resolved = Resolve(options, config);
        if (!resolved.ok()) {
          std::fprintf(stderr, "%s\n", resolved.status().ToString().c_str());
          return false;
        }
        times[column++].push_back(Decode(**model, backend, batch, one, *resolved, small ? 4 : 60));
      }
    }
    std::printf("| %d x %d, beam %d |", one.documents, one.length, one.beam);
    for (const std::vector<double>& column : times) {
      std::printf(" %.0f us, %.0f tokens/s |", Median(column) * 1e6, one.documents / Median(column));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  BenchOverlap(**model, backend, *Resolve(dense, config), small);
  return true;
}

// Seconds of one call, over weights that no cache holds between two of them.
double MeasureLinear(Backend& backend, const std::vector<std::unique_ptr<PackedLinear>>& layers, int32_t rows,
                     bool counted) {
  const PackedLinear& shape = *layers.front();
  const DeviceArray<float> input = Upload(backend, Normal(static_cast<size_t>(rows) * shape.inputs(), 1));
  const DeviceArray<int32_t> count = Upload(backend, std::vector<int32_t>(1, rows));
  DeviceArray<float> output = backend.Array<float>(static_cast<size_t>(rows) * shape.outputs());
  std::vector<double> times;
  for (int round = 0; round < 9; ++round) {
    const Clock::time_point start = Clock::now();
    for (const std::unique_ptr<PackedLinear>& layer : layers) {
      backend.Linear({.weight = layer.get(),
                      .rows = {nullptr, counted ? count.data() : nullptr, rows},
                      .input = input.data(),
                      .activation = Activation::kRelu,
                      .output = output.data()});
    }
    Finish(backend, output);
    if (round > 1) times.push_back(Seconds(start) / static_cast<double>(layers.size()));
  }
  return Median(times);
}

void BenchLinear(Backend& backend, bool small) {
  std::printf("\n## Linear layers\n\n| K x N, rows | known to the host | counted on the device |\n|---|---|---|\n");
  constexpr int32_t kShapes[][2] = {{512, 512}, {512, 2048}, {2048, 512}};
  for (const auto& [inputs, outputs] : kShapes) {
    std::vector<std::unique_ptr<PackedLinear>> layers;
    const std::vector<float> weight = Normal(static_cast<size_t>(inputs) * outputs, 0.05f);
    for (int layer = 0; layer < (small ? 2 : 32); ++layer) {
      layers.push_back(backend.Pack({weight.data(), nullptr, inputs, outputs}));
    }
    for (const int32_t rows : {1, 16, 64, 2048}) {
      if (small && rows > 64) continue;
      std::printf("| %d x %d, %d |", inputs, outputs, rows);
      for (const bool counted : {false, true}) {
        const double seconds = MeasureLinear(backend, layers, rows, counted);
        std::printf(" %.1f us, %.2f TFLOPS |", seconds * 1e6, 2e-12 * rows * inputs * outputs / seconds);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

int Main(const std::string& device, bool small) {
  absl::StatusOr<std::unique_ptr<Backend>> backend =
      device == "cpu" ? MakeCpuBackend({.threads = 0, .compute = ComputeType::kBF16})
                      : MakeCudaBackend({.compute = device == "cuda-int8" ? ComputeType::kInt8 : ComputeType::kAuto});
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().ToString().c_str());
    return 1;
  }
  std::printf("# %s\n", (*backend)->Name().c_str());
  BenchLinear(**backend, small);
  BenchAttention(**backend, small);
  if (!BenchDecoding(**backend, small)) return 1;
  if (const absl::Status status = (*backend)->status(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace salient

int main(int argc, char** argv) {
  const bool small = argc > 2 && std::strcmp(argv[2], "small") == 0;
  return salient::Main(argc > 1 ? argv[1] : "cuda", small);
}

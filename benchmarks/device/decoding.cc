#include <cstdio>
#include <memory>

#include "benchmarks/device/bench.h"
#include "engine/decode/batch.h"
#include "engine/decode/sequence.h"
#include "engine/model/model.h"

namespace salient {
namespace {

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
    chunks_.push_back(std::make_unique<Chunk>());
    Chunk& chunk = *chunks_.back();
    for (int32_t t = 0; t + 1 < length; ++t) {
      chunk.tokens.push_back(5 + static_cast<int32_t>(random_() % (model_.config.vocab_size - 5)));
    }
    chunk.tokens.push_back(model_.config.tokens.end);
    chunk.pieces.push_back({0, length - 1});
    sequences_.push_back(std::make_unique<Sequence>(chunk, options_, std::vector<int32_t>(), model_.config, backend_,
                                                    batch_.stores().self, batch_.stores().cross));
    Sequence* const joining[] = {sequences_.back().get()};
    batch_.Join(joining);
  }
  // The last one is encoded and begins to be decoded.
  void Schedule() { batch_.Schedule(*sequences_.back()); }
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
  std::vector<std::unique_ptr<Chunk>> chunks_;
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

// Bytes that a step cannot do without reading: all weights of the decoder once, and of every document the keys and
// values that are attended to, a share of them where keys are selected, and then the selection keys of all.
double LeastBytes(const ModelConfig& config, double weight_bytes, int32_t documents, double keys, double share) {
  constexpr double kKeyBytes = 2;  // bf16
  const double d = config.d_model, layers = config.decoder.layers;
  const double weights = layers * (6 * d * d + 2 * d * config.decoder.ffn_width) + config.vocab_size * d;
  const double attended = layers * keys * share * 2 * d * kKeyBytes;
  const double selection = share < 1 ? config.groups(Module::kCross) * keys * config.selection.width : 0;
  return weight_bytes * weights + documents * (attended + selection);
}

struct Speed {
  double seconds = 0;  // a token of each document
  double tokens = 0;   // that a document had meanwhile, on average
};

// Makes `calls` steps, or groups of steps, after the first few.
Speed Decode(const Model& model, Backend& backend, Batch& batch, const DecodeCase& decode,
             const ResolvedOptions& options, int32_t calls) {
  Translations translations(model, backend, batch, options);
  for (int32_t i = 0; i < decode.documents; ++i) {
    translations.Join(decode.length);
    batch.Encode(absl::InfiniteDuration());
    translations.Schedule();
  }
  for (int warm = 0; warm < kWarmSteps; ++warm) batch.Step();
  const int64_t before = translations.tokens();
  const double seconds = decode.documents / TokensASecond(batch, translations, [&] { return --calls <= 0; });
  return {seconds, static_cast<double>(before + translations.tokens()) / 2 / decode.documents};
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
    translations.Schedule();
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
  KeyPools pools(backend.memory(), small ? 64LL << 20 : 20LL << 30);
  KeyStores stores(model, backend, std::nullopt, pools);
  Batch batch(model, backend, stores, {.max_rows = 64, .encode_tokens = decode.length, .encode_chunks = 1});
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

}  // namespace

absl::Status BenchDecoding(Backend& backend, bool small, double copy_speed, double weight_bytes) {
  const ModelConfig config = RandomModelConfig(small);
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Build(config, RandomModelWeights(config), backend);
  if (!model.ok()) return model.status();
  constexpr double kShare = 0.05;
  TranslationOptions dense, sparse, shallow;
  dense.selection.policy = SelectionPolicy::kDense;
  sparse.selection = {.policy = SelectionPolicy::kRatio, .value = kShare};
  shallow.selection = sparse.selection;
  shallow.depth = {.policy = DepthPolicy::kGeometric, .thresholds = {0.5}};
  std::printf(
      "\n## Decoding\n\nMicroseconds a step, and tokens a second; median of interleaved runs. A floor is what a step "
      "must "
      "read, at the speed of copying.\n\n"
      "| case | dense | selection of 5 %% | and geometric exits | dense over its floor | selection over its floor |\n"
      "|---|---|---|---|---|---|\n");
  std::vector<DecodeCase> cases = {{1, 2048}, {64, 2048}, {64, 8192}, {16, 2048, 4}};
  if (small) cases = {{1, 100}, {4, 100}, {4, 100, 4}};
  for (const DecodeCase& one : cases) {
    const int64_t kv_bytes = small ? 64LL << 20 : one.length > 2048 ? 60LL << 30 : 20LL << 30;
    KeyPools pools(backend.memory(), kv_bytes);
    KeyStores stores(**model, backend, std::nullopt, pools);
    Batch batch(**model, backend, stores, {.max_rows = 64, .encode_tokens = one.length, .encode_chunks = 1});
    std::vector<double> times[3];
    double tokens = 0;
    for (int round = 0; round < 3; ++round) {
      int column = 0;
      for (TranslationOptions options : {dense, sparse, shallow}) {
        options.search.beam = one.beam;
        absl::StatusOr<ResolvedOptions> resolved = Resolve(options, config);
        if (!resolved.ok()) return resolved.status();
        const Speed speed = Decode(**model, backend, batch, one, *resolved, small ? 4 : 60);
        times[column++].push_back(speed.seconds);
        tokens = speed.tokens;
      }
    }
    std::printf("| %d x %d, beam %d |", one.documents, one.length, one.beam);
    for (const std::vector<double>& column : times) {
      std::printf(" %.0f us, %.0f tokens/s |", Median(column) * 1e6, one.documents / Median(column));
    }
    const double shares[] = {1, kShare};
    for (int column = 0; column < 2; ++column) {
      const double least = LeastBytes(config, weight_bytes, one.documents, one.length + tokens, shares[column]);
      std::printf(" %.2fx |", Median(times[column]) / (least / copy_speed));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  BenchOverlap(**model, backend, *Resolve(dense, config), small);
  return absl::OkStatus();
}

}  // namespace salient

#include "engine/model/model.h"

#include <cmath>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/files.h"
#include "engine/base/memory_share.h"
#include "engine/search/candidates.h"

namespace salient {
namespace {

// Collects tensors into device structures. It keeps the first error, so that its callers need not check each tensor.
class Builder {
 public:
  Builder(const ModelConfig& config, const TensorFile& tensors, Backend& backend)
      : config_(config), tensors_(tensors), backend_(backend) {}

  const absl::Status& status() const { return status_; }

  std::span<const float> Get(const std::string& name, const std::vector<int64_t>& shape) {
    absl::StatusOr<const Tensor*> tensor = tensors_.Get(name, shape);
    if (!tensor.ok()) {
      if (status_.ok()) status_ = tensor.status();
      return {};
    }
    for (const float value : (*tensor)->values) {
      if (!std::isfinite(value)) {
        if (status_.ok()) {
          status_ = absl::InvalidArgumentError(
              absl::StrCat("model.safetensors: ", name, " holds a value that is not finite"));
        }
        return {};
      }
    }
    return (*tensor)->values;
  }

  DeviceArray<float> Upload(std::span<const float> values) {
    DeviceArray<float> array = backend_.Array<float>(values.size());
    if (!values.empty()) backend_.memory().CopyToDevice(array.data(), values.data(), values.size() * sizeof(float));
    return array;
  }

  // Rows [first, first + count) of a linear layer whose matrix has `outputs` rows.
  std::unique_ptr<PackedLinear> Linear(const std::string& name, int64_t inputs, int64_t outputs, int64_t first = 0,
                                       int64_t count = -1, bool has_bias = true) {
    if (count < 0) count = outputs;
    const std::span<const float> weight = Get(name + ".weight", {outputs, inputs});
    const std::span<const float> bias = has_bias ? Get(name + ".bias", {outputs}) : std::span<const float>();
    if (!status_.ok()) return nullptr;
    return backend_.Pack({weight.data() + first * inputs, has_bias ? bias.data() + first : nullptr,
                          static_cast<int32_t>(inputs), static_cast<int32_t>(count)});
  }

  NormWeights Norm(const std::string& name) {
    return {Upload(Get(name + ".weight", {d()})), Upload(Get(name + ".bias", {d()}))};
  }

  AttentionWeights Attention(const std::string& name, bool cross) {
    AttentionWeights made;
    if (cross) {
      made.query = Linear(name + ".query", d(), d());
      made.key_value = Linear(name + ".key_value", d(), 2 * d());
    } else {
      made.query = Linear(name + ".query_key_value", d(), 3 * d(), 0, d());
      made.key_value = Linear(name + ".query_key_value", d(), 3 * d(), d(), 2 * d());
    }
    made.output = Linear(name + ".output", d(), d());
    return made;
  }

  // W and W_f side by side; W has no bias.
  std::unique_ptr<PackedLinear> Ssru(const std::string& name) {
    const std::span<const float> input = Get(name + ".input.weight", {d(), d()});
    const std::span<const float> forget = Get(name + ".forget.weight", {d(), d()});
    const std::span<const float> forget_bias = Get(name + ".forget.bias", {d()});
    if (!status_.ok()) return nullptr;
    std::vector<float> weight(input.begin(), input.end()), bias(d(), 0.0f);
    weight.insert(weight.end(), forget.begin(), forget.end());
    bias.insert(bias.end(), forget_bias.begin(), forget_bias.end());
    return backend_.Pack({weight.data(), bias.data(), config_.d_model, 2 * config_.d_model});
  }

  std::unique_ptr<SelectionWeights> Selection(const std::string& name, Module module, int32_t layer) {
    if (!config_.has_selection || layer % config_.group_size(module) != 0) return nullptr;
    auto made = std::make_unique<SelectionWeights>();
    const int64_t width = config_.selection.width;
    made->query = Linear(name + ".selection.query", d(), width, 0, width, false);
    made->key = Linear(name + ".selection.key", d(), width, 0, width, false);
    const std::span<const float> step = Get(name + ".selection.key_inverse_step", {});
    if (step.empty()) return nullptr;
    made->key_inverse_step = step[0];
    if (step[0] <= 0) {
      status_ = absl::InvalidArgumentError(absl::StrCat("model.safetensors: ", name, ".selection.key_inverse_step is ",
                                                        step[0], "; it must be above 0"));
    }
    return made;
  }

  std::unique_ptr<FeedForwardWeights> FeedForward(const std::string& name, int64_t width) {
    auto made = std::make_unique<FeedForwardWeights>();
    made->up = Linear(name + ".up", d(), width);
    made->down = Linear(name + ".down", width, d());
    return made;
  }

  LayerWeights Layer(const std::string& name, int32_t index, bool is_decoder) {
    const StackConfig& stack = is_decoder ? config_.decoder : config_.encoder;
    LayerWeights made;
    made.self_norm = Norm(name + ".self_attention_norm");
    if (is_decoder && config_.recurs()) {
      made.ssru = Ssru(name + ".ssru");
    } else {
      made.self = Attention(name + ".self_attention", false);
      made.self_selection =
          Selection(name + ".self_attention", is_decoder ? Module::kDecoder : Module::kEncoder, index);
    }
    if (is_decoder) {
      made.cross_norm = Norm(name + ".cross_attention_norm");
      made.cross = Attention(name + ".cross_attention", true);
      made.cross_selection = Selection(name + ".cross_attention", Module::kCross, index);
    }
    if (stack.ffn != FeedForwardKind::kNone) made.ffn_norm = Norm(name + ".ffn_norm");
    if (stack.ffn == FeedForwardKind::kOwn) {
      made.own_ffn = FeedForward(name + ".ffn", stack.ffn_width);
      made.ffn = made.own_ffn.get();
    }
    return made;
  }

  // The norms of all exits in one array, so that one operation norms rows of different exits. Exits count from 1; set 0
  // exists but is not read.
  NormWeights ExitNorms() {
    std::vector<float> weight(d(), 0.0f), bias(d(), 0.0f);
    for (int32_t n = 0; n < config_.decoder.layers; ++n) {
      const std::span<const float> w = Get(absl::StrCat("exit_norms.", n, ".weight"), {d()});
      const std::span<const float> b = Get(absl::StrCat("exit_norms.", n, ".bias"), {d()});
      weight.insert(weight.end(), w.begin(), w.end());
      bias.insert(bias.end(), b.begin(), b.end());
    }
    return {Upload(weight), Upload(bias)};
  }

  std::vector<std::unique_ptr<PackedLinear>> Classifiers() {
    std::vector<std::unique_ptr<PackedLinear>> made;
    const bool tied = !config_.has_exits || config_.tied_classifiers;
    const std::span<const float> stored_bias = Get("output_bias", {config_.vocab_size});
    std::vector<float> bias(stored_bias.begin(), stored_bias.end());
    for (const int32_t token : config_.suppressed) {
      if (!bias.empty()) bias[token] = kSuppressed;
    }
    for (int32_t n = 0; n < (tied ? 1 : config_.decoder.layers); ++n) {
      const std::string name = !tied                ? absl::StrCat("exit_classifiers.", n, ".weight")
                               : config_.own_output ? "output.weight"
                                                    : "embedding.weight";
      const std::span<const float> weight = Get(name, {config_.vocab_size, d()});
      if (!status_.ok()) return made;
      made.push_back(backend_.Pack({weight.data(), bias.data(), config_.d_model, config_.vocab_size}));
    }
    return made;
  }

  HaltingWeights Halting() {
    HaltingWeights made;
    const int64_t layers = config_.decoder.layers;
    if (config_.sequence_head) made.sequence = Linear("halting.sequence", d(), layers);
    if (config_.multinomial_head) made.multinomial = Linear("halting.multinomial", d(), layers);
    for (int64_t n = 0; config_.geometric_head && n < layers; ++n) {
      made.geometric.push_back(Linear("halting.geometric", d(), layers, n, 1));
    }
    return made;
  }

 private:
  int64_t d() const { return config_.d_model; }

  const ModelConfig& config_;
  const TensorFile& tensors_;
  Backend& backend_;
  absl::Status status_;
};

constexpr size_t kMaxConfigBytes = 1 << 20;

// How much memory of the host Build takes, in copies of all tensors in fp32: they live until all of them are packed, in
// fp32 at most. Other formats take less, which leaves room for the embeddings, of which there is a table and a packed
// classifier. A device has memory of its own for what is packed.
constexpr int kCopiesOnHost = 2, kCopiesForDevice = 1;

absl::StatusOr<std::string> ReadConfig(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadRegular(path, kMaxConfigBytes);
  if (bytes.ok()) return bytes;
  return absl::Status(bytes.status().code(), absl::StrCat(bytes.status().message(),
                                                          ": a model folder holds config.json, model.safetensors and "
                                                          "tokenizer.model"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> Model::Load(const std::string& folder, Backend& backend) {
  absl::StatusOr<std::string> json = ReadConfig(folder + "/config.json");
  if (!json.ok()) return json.status();
  absl::StatusOr<ModelConfig> config = ModelConfig::Parse(*json);
  if (!config.ok()) return config.status();
  int64_t memory = AvailableMemory();  // for all that is read
  absl::StatusOr<TensorFile> tensors =
      TensorFile::Load(folder, backend.host_addressable() ? kCopiesOnHost : kCopiesForDevice, memory);
  if (!tensors.ok()) return tensors.status();
  absl::StatusOr<std::unique_ptr<Shortlist>> shortlist = Shortlist::Load(folder, *config, memory);
  if (!shortlist.ok()) return shortlist.status();
  config->has_shortlist = *shortlist != nullptr;
  absl::StatusOr<std::unique_ptr<Model>> model = Build(*config, *tensors, backend);
  if (model.ok()) (*model)->shortlist = *std::move(shortlist);
  return model;
}

absl::StatusOr<std::unique_ptr<Model>> Model::Build(const ModelConfig& config, const TensorFile& tensors,
                                                    Backend& backend) {
  Builder builder(config, tensors, backend);
  auto model = std::make_unique<Model>();
  model->config = config;
  model->parameters = tensors.parameters();
  model->embedding = builder.Upload(builder.Get("embedding.weight", {config.vocab_size, config.d_model}));

  if (config.has_source_vocabulary) {
    model->source_embedding =
        builder.Upload(builder.Get("source_embedding.weight", {config.source_vocab_size, config.d_model}));
  }
  if (config.embedding_norm) {
    model->encoder_embedding_norm = builder.Norm("encoder_embedding_norm");
    model->decoder_embedding_norm = builder.Norm("decoder_embedding_norm");
  }

  if (config.encoder.ffn == FeedForwardKind::kShared) {
    model->shared_encoder_ffn = builder.FeedForward("encoder_ffn", config.encoder.ffn_width);
  }
  if (config.decoder.ffn == FeedForwardKind::kShared) {
    model->shared_decoder_ffn = builder.FeedForward("decoder_ffn", config.decoder.ffn_width);
  }
  for (int32_t i = 0; i < config.encoder.layers && builder.status().ok(); ++i) {
    model->encoder.push_back(builder.Layer(absl::StrCat("encoder_layers.", i), i, false));
    if (config.encoder.ffn == FeedForwardKind::kShared) model->encoder.back().ffn = model->shared_encoder_ffn.get();
  }
  for (int32_t i = 0; i < config.decoder.layers && builder.status().ok(); ++i) {
    model->decoder.push_back(builder.Layer(absl::StrCat("decoder_layers.", i), i, true));
    if (config.decoder.ffn == FeedForwardKind::kShared) model->decoder.back().ffn = model->shared_decoder_ffn.get();
    if (config.decoder.ffn == FeedForwardKind::kEncoder) model->decoder.back().ffn = model->shared_encoder_ffn.get();
  }
  if (config.pre_norm && builder.status().ok()) {
    model->encoder_norm = builder.Norm("encoder_norm");
    model->exit_norms = builder.ExitNorms();
  }
  if (builder.status().ok()) model->classifiers = builder.Classifiers();
  if (builder.status().ok()) model->halting = builder.Halting();
  if (!builder.status().ok()) return builder.status();
  return model;
}

}  // namespace salient

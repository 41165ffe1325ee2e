#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "benchmarks/device/bench.h"

namespace salient {
namespace {

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

}  // namespace

ModelConfig RandomModelConfig(bool small) {
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
    config.selection.learned_ratio[m].assign(config.groups(static_cast<Module>(m)), 0.05);
  }
  config.has_exits = config.geometric_head = true;
  config.chunk_tokens = small ? 256 : 8192;
  return config;
}

TensorFile RandomModelWeights(const ModelConfig& config) {
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

}  // namespace salient

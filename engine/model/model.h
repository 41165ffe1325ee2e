// A model's weights on the device, packed for its backend, in the order in which they are used. They are read from
// config.json and the safetensors files. Immutable after Load; encoders and decoders may share a model.

#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/backend/backend.h"
#include "engine/model/config.h"
#include "engine/model/safetensors.h"
#include "engine/model/shortlist.h"

namespace salient {

struct NormWeights {
  DeviceArray<float> weight, bias;  // [sets, d]
};

struct AttentionWeights {
  std::unique_ptr<PackedLinear> query, key_value, output;
};

// One selection layer (eq. 1): Qs = X_q Wqs, Ks = X_k Wks.
struct SelectionWeights {
  std::unique_ptr<PackedLinear> query, key;
  float key_inverse_step = 0;
};

struct FeedForwardWeights {
  std::unique_ptr<PackedLinear> up, down;
};

struct LayerWeights {
  NormWeights self_norm, cross_norm, ffn_norm;
  AttentionWeights self, cross;
  // d -> 2 d: W x, then W_f x + b_f. In place of `self` where the decoder is recurrent.
  std::unique_ptr<PackedLinear> ssru;
  // Set in the lowest layer of each group; null in the others.
  std::unique_ptr<SelectionWeights> self_selection, cross_selection;
  std::unique_ptr<FeedForwardWeights> own_ffn;
  const FeedForwardWeights* ffn = nullptr;  // own, shared, or null for none
};

struct HaltingWeights {
  std::unique_ptr<PackedLinear> sequence, multinomial;   // d -> layers
  std::vector<std::unique_ptr<PackedLinear>> geometric;  // [layers] d -> 1
};

struct Model {
  ModelConfig config;
  int64_t parameters = 0;

  DeviceArray<float> embedding;                                // [vocabulary, d], the target's
  DeviceArray<float> source_embedding;                         // [source vocabulary, d]; empty where it is the same
  NormWeights encoder_embedding_norm, decoder_embedding_norm;  // empty without embedding norms
  std::vector<LayerWeights> encoder, decoder;
  std::unique_ptr<FeedForwardWeights> shared_encoder_ffn, shared_decoder_ffn;
  NormWeights encoder_norm;  // empty with post-norm
  NormWeights exit_norms;    // [1 + decoder layers, d] by exit, which count from 1; empty with post-norm
  // One classifier for all exits if they are tied, otherwise one for each exit.
  std::vector<std::unique_ptr<PackedLinear>> classifiers;
  HaltingWeights halting;
  std::unique_ptr<Shortlist> shortlist;  // null: the folder has none

  const float* source_table() const { return (source_embedding.empty() ? embedding : source_embedding).data(); }
  bool has_tied_classifiers() const { return classifiers.size() == 1; }
  const PackedLinear& classifier(int32_t exit_layer) const {
    return *classifiers[has_tied_classifiers() ? 0 : exit_layer - 1];
  }

  // NOT_FOUND or INVALID_ARGUMENT that names the file or tensor. The backend must outlive the model.
  static absl::StatusOr<std::unique_ptr<Model>> Load(const std::string& folder, Backend& backend);
  static absl::StatusOr<std::unique_ptr<Model>> Build(const ModelConfig& config, const TensorFile& tensors,
                                                      Backend& backend);
};

// The factor of token embeddings.
inline float EmbeddingScale(const ModelConfig& config) {
  return config.scale_embeddings ? std::sqrt(static_cast<float>(config.d_model)) : 1.0f;
}

}  // namespace salient

// The shape of a model, as config.json in its folder describes it. The training code writes the same fields
// (training/salient/config.py).

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/api/module.h"
#include "engine/core/special_tokens.h"
#include "engine/linear/linear.h"

namespace salient {

// Which feed-forward block a layer uses: its own, the stack's shared one, the encoder's shared one, or none (One Wide
// FFN, arXiv 2309.01826).
enum class FeedForwardKind { kOwn, kShared, kEncoder, kNone };

struct StackConfig {
  int32_t layers = 0;
  FeedForwardKind ffn = FeedForwardKind::kOwn;
  int32_t ffn_width = 0;  // of the block that is used; 0 for kNone

  bool operator==(const StackConfig&) const = default;
};

// How a decoder layer sees earlier tokens: by attention, or by a recurrent state (engine/recurrence/ssru.h).
enum class Autoregression { kAttention, kSsru };

enum class EmbeddingPosition { kNone, kSinusoidal, kSegmentSinusoidal };
enum class SelfPosition { kNone, kRotary, kSegmentRotary };
enum class CrossPosition { kNone, kSegmentRotary };

inline constexpr double kMaxLengthPenalty = 5.0;
// A pass over a chunk may list the keys of all its queries, as many as the chunk has tokens (KeyListArena): 600 MB.
// Also without selection layers, where a request may ask for windows.
inline constexpr int32_t kMaxChunkTokens = 10240;

struct SelectionConfig {
  int32_t width = 0;  // ds
  int32_t min_keys = 0;
  // By Module: r consecutive layers share a selection layer.
  std::array<int32_t, kModules> group = {};
  // By Module: the learned ratio of keys of each selection layer (k of eq. 7); empty if it was not learned.
  std::array<std::vector<double>, kModules> learned_ratio;

  bool operator==(const SelectionConfig&) const = default;
};

// A model of several languages has a token for each. SourcePrefix: which language's token begins the source.
// target_prefix: whether the token of the target language is forced at the start of the translation.
enum class SourcePrefix { kNone, kSource, kTarget };

struct LanguagesConfig {
  std::map<std::string, int32_t> tokens;
  std::vector<std::string> source, target;  // the languages that it translates from and to
  SourcePrefix source_prefix = SourcePrefix::kNone;
  bool target_prefix = false;

  bool operator==(const LanguagesConfig&) const = default;
};

struct ModelConfig {
  std::string name, source_language, target_language;
  bool has_languages = false;
  LanguagesConfig languages;  // of a model of several languages, whose source_language or target_language is "mul"
  int32_t vocab_size = 0, d_model = 0, heads = 0;
  int32_t source_vocab_size = 0;       // vocab_size, unless has_source_vocabulary
  bool has_source_vocabulary = false;  // with an embedding of its own
  bool own_output = false;             // the output matrix is not the target's embedding
  bool embedding_norm = false;         // a layer norm after the embedding, on both sides
  Autoregression autoregression = Autoregression::kAttention;
  StackConfig encoder, decoder;
  bool pre_norm = true;
  Activation activation = Activation::kRelu;
  float layer_norm_epsilon = 1e-5f;
  bool scale_embeddings = true;
  EmbeddingPosition embedding_position = EmbeddingPosition::kNone;
  double sinusoid_base = 10000.0;  // of EmbedArgs
  int32_t first_position = 0;
  bool self_rotary = false;  // the decoder's
  SelfPosition encoder_position = SelfPosition::kNone;
  CrossPosition cross_position = CrossPosition::kNone;
  float rotary_base = 10000.0f;

  bool has_selection = false;
  SelectionConfig selection;

  bool has_exits = false;  // a classifier at every decoder layer
  bool tied_classifiers = true;
  bool sequence_head = false, multinomial_head = false, geometric_head = false;
  std::vector<double> confidence;  // thresholds of the confidence policy if a request has none, one a layer; or empty

  // Whether the folder has a shortlist (shortlist.h); not a field of config.json.
  bool has_shortlist = false;

  SpecialTokens tokens;
  // UTF-8: characters without a piece that the model reads and writes in bytes, because it was trained on many of them.
  // All others without a piece are kept from it (engine/text/copier.h); nullopt: none is.
  std::optional<std::string> byte_characters;
  std::vector<int32_t> suppressed;  // tokens whose probability is set to 0
  double length_penalty = 1.0;      // used if a request has none
  int32_t chunk_tokens = 0;         // the most source tokens, separators included, in one pass
  std::optional<int32_t> aligns;    // of alignment_layer(), if it is not the last but one

  int32_t head_width() const { return d_model / heads; }
  int32_t layers(Module module) const { return module == Module::kEncoder ? encoder.layers : decoder.layers; }
  int32_t group_size(Module module) const { return selection.group[static_cast<int>(module)]; }
  // The cross-attention, from 0, whose weights tell which source token a target token is made of.
  int32_t alignment_layer() const { return aligns.value_or(decoder.layers > 1 ? decoder.layers - 2 : 0); }
  bool recurs() const { return autoregression == Autoregression::kSsru; }
  // Whether the tokens of languages are the source's, and the target's. In a vocabulary of its own a side that begins
  // with none has ordinary pieces with their numbers.
  bool source_has_languages() const { return !has_source_vocabulary || languages.source_prefix != SourcePrefix::kNone; }
  bool target_has_languages() const { return !has_source_vocabulary || languages.target_prefix; }
  // Selection layers of a module: one for every `group` layers, the last group possibly smaller (eq. 8).
  int32_t groups(Module module) const {
    if (!has_selection || (recurs() && module == Module::kDecoder)) return 0;
    return (layers(module) + group_size(module) - 1) / group_size(module);
  }

  // Whether a layer selects keys: the lowest layer of each group selects for its group. Without selection layers the
  // first layer selects for all layers; then the policy can only be dense or window.
  bool chooses_keys(Module module, int32_t layer) const {
    return has_selection ? layer % group_size(module) == 0 : layer == 0;
  }
  int32_t key_group(Module module, int32_t layer) const { return has_selection ? layer / group_size(module) : 0; }
  int32_t key_groups(Module module) const { return has_selection ? groups(module) : 1; }

  // Parses and checks config.json: every error names the field, what it is and what is allowed. Sizes are bounded, so
  // that no configuration makes the engine allocate absurd amounts.
  static absl::StatusOr<ModelConfig> Parse(std::string_view json);

  bool operator==(const ModelConfig&) const = default;
};

}  // namespace salient

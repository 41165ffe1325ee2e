// The shape of a model, as config.json in its folder says it. The training code writes the same fields
// (training/salient/config.py).

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/api/module.h"
#include "engine/core/special_tokens.h"
#include "engine/linear/linear.h"

namespace salient {

// Where a layer's feed-forward block comes from (One Wide FFN, arXiv 2309.01826).
enum class FeedForwardKind { kOwn, kShared, kEncoder, kNone };

struct StackConfig {
  int32_t layers = 0;
  FeedForwardKind ffn = FeedForwardKind::kOwn;
  int32_t ffn_width = 0;  // of the block that is used; 0 for kNone
};

// What lets a decoder layer see the tokens before: attention, or a recurrent state (engine/recurrence/ssru.h).
enum class Autoregression { kAttention, kSsru };

enum class EmbeddingPosition { kNone, kSinusoidal, kSegmentSinusoidal };
enum class SelfPosition { kNone, kRotary, kSegmentRotary };
enum class CrossPosition { kNone, kSegmentRotary };

inline constexpr double kMaxLengthPenalty = 5.0;

struct SelectionConfig {
  int32_t width = 0;  // ds
  int32_t min_keys = 0;
  // By Module: r consecutive layers share a selection layer.
  std::array<int32_t, kModules> group = {};
  // By Module: the ratio of keys that each selection layer has learned to need (k of eq. 7); none if it was not
  // learned. config.json calls it key_fraction.
  std::array<std::vector<double>, kModules> learned_ratio;
};

// Of a model of several languages: each has a token. Which of the two languages of a request has its token at the
// beginning of the source, and whether the translation is made to begin with that of its own.
enum class SourcePrefix { kNone, kSource, kTarget };

struct LanguagesConfig {
  std::map<std::string, int32_t> tokens;
  std::vector<std::string> source, target;  // that it translates from and to
  SourcePrefix source_prefix = SourcePrefix::kNone;
  bool target_prefix = false;
};

struct ModelConfig {
  std::string name, source_language, target_language;
  bool has_languages = false;
  LanguagesConfig languages;  // "mul" above where it is not one language
  int32_t vocab_size = 0, d_model = 0, heads = 0;
  int32_t source_vocab_size = 0;       // vocab_size, unless has_source_vocabulary
  bool has_source_vocabulary = false;  // with an embedding of its own
  bool own_output = false;             // the output matrix is not the target's embedding
  bool embedding_norm = false;         // a norm behind the embedding, on either side
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

  // Whether the folder has a shortlist (shortlist.h); not a field of config.json.
  bool has_shortlist = false;

  SpecialTokens tokens;
  std::vector<int32_t> suppressed;  // tokens that no translation contains; they have no probability
  double length_penalty = 1.0;      // where a request names none
  int32_t chunk_tokens = 0;         // the most source tokens, separators included, in one pass

  int32_t head_width() const { return d_model / heads; }
  int32_t layers(Module module) const { return module == Module::kEncoder ? encoder.layers : decoder.layers; }
  int32_t group_size(Module module) const { return selection.group[static_cast<int>(module)]; }
  // The cross-attention whose weights tell which source token a target token is made of: the last but one.
  int32_t alignment_layer() const { return decoder.layers > 1 ? decoder.layers - 2 : 0; }
  bool recurs() const { return autoregression == Autoregression::kSsru; }
  // Selection layers of a module: one for every `group` layers, the last group possibly smaller (eq. 8).
  int32_t groups(Module module) const {
    if (!has_selection || (recurs() && module == Module::kDecoder)) return 0;
    return (layers(module) + group_size(module) - 1) / group_size(module);
  }

  // Which layers choose keys, and for whom: the lowest of each group for its group; without selection layers the
  // first layer for all, which then can only be everything or a window.
  bool chooses_keys(Module module, int32_t layer) const {
    return has_selection ? layer % group_size(module) == 0 : layer == 0;
  }
  int32_t key_group(Module module, int32_t layer) const { return has_selection ? layer / group_size(module) : 0; }
  int32_t key_groups(Module module) const { return has_selection ? groups(module) : 1; }

  // Parses and checks config.json: every error names the field, what it is and what is allowed. Sizes are bounded, so
  // that no configuration makes the engine allocate absurd amounts.
  static absl::StatusOr<ModelConfig> Parse(std::string_view json);
};

}  // namespace salient

// A config.json with all fields, which tests change.

#pragma once

#include <string>

#include "engine/model/config.h"
#include "nlohmann/json.hpp"

namespace salient {

inline nlohmann::json SmallConfigJson() {
  return nlohmann::json::parse(R"({
    "format": "salient-model/1", "name": "en-de", "source_language": "en", "target_language": "de",
    "vocab_size": 8000, "d_model": 256, "heads": 4,
    "encoder": {"layers": 6, "ffn": {"kind": "own", "width": 1024}},
    "decoder": {"layers": 4, "ffn": {"kind": "shared", "width": 512}},
    "norm": "pre", "activation": "relu", "layer_norm_epsilon": 1e-05, "scale_embeddings": true,
    "positions": {"embedding": "segment_sinusoidal", "self_attention": "rotary", "cross_attention": "segment_rotary",
                  "rotary_base": 10000.0},
    "selection": {"width": 32, "min_keys": 10, "group": {"encoder": 3, "decoder": 2, "cross": 3},
                  "learned_ratio": {"encoder": [0.1, 0.2], "decoder": [0.02, 1], "cross": [0.05, 0.5]}},
    "exits": {"classifier": "tied", "heads": ["sequence", "multinomial", "geometric"]},
    "tokens": {"pad": 0, "unk": 1, "bos": 2, "eos": 3, "separator": 4}, "chunk_tokens": 1024})");
}

// Parsed; must be valid.
inline ModelConfig SmallConfig(const nlohmann::json& json = SmallConfigJson()) {
  return ModelConfig::Parse(json.dump()).value();
}

}  // namespace salient

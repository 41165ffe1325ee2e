// The model for tests of sequences: two decoder layers, 20 tokens, no weights.

#pragma once

#include "engine/model/config.h"

namespace salient {

inline ModelConfig SmallConfig() {
  ModelConfig config;
  config.vocab_size = 20;
  config.d_model = 8;
  config.heads = 2;
  config.encoder = {1, FeedForwardKind::kNone, 0};
  config.decoder = {2, FeedForwardKind::kNone, 0};
  config.chunk_tokens = 64;
  return config;
}

}  // namespace salient

// A document to translate, as the engine takes it.

#pragma once

#include <string>

#include "absl/time/time.h"
#include "engine/api/options.h"

namespace salient {

// What is one segment: a sentence, or a line with all that stands in it.
enum class Segmentation { kSentences, kLines };

struct TranslationRequest {
  std::string text;  // UTF-8
  Segmentation segmentation = Segmentation::kSentences;
  TranslationOptions options;
  absl::Time deadline = absl::InfiniteFuture();

  // Who asks: clients share the engine by weight (engine/schedule/scheduler.h). A client's bulk documents get a small
  // part of the share of its others.
  std::string client;
  double weight = 1;
  bool bulk = false;
};

}  // namespace salient

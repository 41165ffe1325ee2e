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
  // BCP 47; read by models of several languages alone, which refuse what they do not have.
  std::string source_language, target_language;
  TranslationOptions options;
  absl::Time deadline = absl::InfiniteFuture();
};

}  // namespace salient

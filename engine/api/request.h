// A request to the engine: a document and its options.

#pragma once

#include <string>

#include "absl/time/time.h"
#include "engine/api/options.h"

namespace salient {

// What a segment is: a sentence, or a whole line.
enum class Segmentation { kSentences, kLines };

struct TranslationRequest {
  std::string text;  // UTF-8 without NUL; not empty
  Segmentation segmentation = Segmentation::kSentences;
  // BCP 47 tags. Only models of several languages read them, and refuse languages that they do not have.
  std::string source_language, target_language;
  TranslationOptions options;
  absl::Time deadline = absl::InfiniteFuture();
  // Belongs to a document that was taken before, so that a full queue does not refuse it.
  bool continues = false;

  // The client. Clients share the engine by weight (engine/schedule/scheduler.h). A client's bulk documents get a
  // smaller share than its interactive ones.
  std::string client;
  double weight = 1;  // above 0
  bool bulk = false;
};

}  // namespace salient

// Converts an API request to an engine request: checks its document, and resolves its setting (an operating point or a
// latency target) to options.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"

namespace salient {

struct Settings {
  TranslationRequest request;                       // all fields except the deadline
  const OperatingPoint* operating_point = nullptr;  // the model's that was named or chosen; null: none
  int64_t estimated_tokens = 0;                     // of source
};

// INVALID_ARGUMENT and NOT_FOUND name the field, its value and the remedy. The engine checks the options against the
// model. expected: of the document, if it began now.
absl::StatusOr<Settings> ReadSettings(const v1::TranslateDocumentRequest& request, const ModelInfo& model,
                                      int64_t max_document_bytes, const Expectation& expected);

}  // namespace salient

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
  TranslationRequest request;   // all fields except the deadline
  std::string operating_point;  // the operating point that was named or chosen; empty: none
};

// INVALID_ARGUMENT and NOT_FOUND name the field, its value and the remedy. The engine checks the options against the
// model.
absl::StatusOr<Settings> ReadSettings(const v1::TranslateDocumentRequest& request, const ModelInfo& model,
                                      int64_t max_document_bytes);

}  // namespace salient

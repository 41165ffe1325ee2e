// What a request asks for, as the engine's request: its document checked, its setting (an operating point or a time)
// turned into options.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"

namespace salient {

struct Settings {
  TranslationRequest request;   // all but the deadline
  std::string operating_point;  // the point that was named or chosen; empty for none
};

// INVALID_ARGUMENT and NOT_FOUND name the field, its value and the remedy. The options themselves are left to the
// engine, which checks them against the model.
absl::StatusOr<Settings> ReadSettings(const v1::TranslateDocumentRequest& request, const ModelInfo& model,
                                      int64_t max_document_bytes);

}  // namespace salient

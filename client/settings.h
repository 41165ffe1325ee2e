// Settings: TranslateDocumentRequests that hold controls, but no document.

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "salient/v1/translation.pb.h"

namespace salient {

// The settings of a file, each in JSON on a line of its own. Errors name the file and the line.
absl::StatusOr<std::vector<v1::TranslateDocumentRequest>> ReadSettings(const std::string& file);

// Dense attention at full depth: what other settings are compared with.
v1::TranslateDocumentRequest DenseAtFullDepth();

// DenseAtFullDepth, then what the model is trained for: its operating points, sparse attention, early exits, the
// shortlist, and a beam. None is there twice.
std::vector<v1::TranslateDocumentRequest> SettingsOf(const v1::Model& model);

}  // namespace salient

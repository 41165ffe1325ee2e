// Between the API's messages and the engine's values. Nothing is decided here except what only the wire can get wrong:
// enum values that the API does not know.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"

namespace salient {

// INVALID_ARGUMENT names the field, such as "selection.policy", and the values there are.
absl::StatusOr<SelectionOptions> FromProto(const v1::SelectionControls& controls);
absl::StatusOr<DepthOptions> FromProto(const v1::DepthControls& controls);
SearchOptions FromProto(const v1::SearchControls& controls);
absl::StatusOr<Segmentation> FromProto(v1::Segmentation segmentation);

v1::SelectionControls ToProto(const SelectionOptions& options);
v1::DepthControls ToProto(const DepthOptions& options);
v1::SearchControls ToProto(const SearchOptions& options);
v1::TranslatedSegment ToProto(TranslatedSegment segment);
v1::Progress ToProto(const TranslationProgress& progress);
v1::CostReport ToProto(const CostReport& report);
v1::Model ToProto(const ModelInfo& info);

// All of a reply but `model` and `operating_point`. Takes the result's strings over.
v1::TranslateDocumentResponse ToProto(TranslationResult result);

}  // namespace salient

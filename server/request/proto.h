// Converts the API's messages to the engine's values and back. The only checks here are those of enum values that the
// API does not define; the engine checks everything else.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"
#include "server/retranslation/guarded_translation.h"

namespace salient {

// INVALID_ARGUMENT names the field, such as "selection.policy", and its values.
absl::StatusOr<SelectionOptions> FromProto(const v1::SelectionControls& controls);
absl::StatusOr<DepthOptions> FromProto(const v1::DepthControls& controls);
SearchOptions FromProto(const v1::SearchControls& controls);
absl::StatusOr<Segmentation> FromProto(v1::Segmentation segmentation);
absl::StatusOr<GuardMode> FromProto(v1::Guard guard, GuardMode unspecified);

v1::SelectionControls ToProto(const SelectionOptions& options);
v1::DepthControls ToProto(const DepthOptions& options);
v1::SearchControls ToProto(const SearchOptions& options);
v1::TokenLink ToProto(const TokenLink& link);
v1::TranslatedSegment ToProto(TranslatedSegment segment);
v1::Progress ToProto(const TranslationProgress& progress);
v1::CostReport ToProto(const CostReport& report);
v1::Guard ToProto(GuardMode mode);
v1::SegmentCheck ToProto(const GuardVerdict& verdict);
v1::Model ToProto(const ModelInfo& info);

// A whole reply except `model` and `operating_point`. Moves the strings out of the result.
v1::TranslateDocumentResponse ToProto(TranslationResult result);

}  // namespace salient

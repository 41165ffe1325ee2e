// The controls of a request as they are typed, --selection ratio:0.05 and --exit geometric:0.5, and as they are shown.

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "salient/v1/translation.pb.h"

namespace salient {

// The forms that --selection and --exit take: "dense, learned, ratio:0.05, ..." (engine/api/policies.h).
std::string SelectionForms();
std::string DepthForms();

// One of SelectionForms. Three values are those of encoder self-, decoder self- and cross-attention:
// "ratio:0.1,0.02,0.05". The server, which knows the model, checks their ranges.
absl::StatusOr<v1::SelectionControls> ParseSelection(std::string_view text);

// One of DepthForms. Several thresholds are those of the layers, from the first. "verify:2" drafts at layer 2,
// "verify:2,4" up to 4 tokens.
absl::StatusOr<v1::DepthControls> ParseDepth(std::string_view text);

// What ParseSelection and ParseDepth would read.
std::string Describe(const v1::SelectionControls& controls);
std::string Describe(const v1::DepthControls& controls);

}  // namespace salient

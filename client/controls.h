// Parses the controls of a request as they are typed (--selection ratio:0.05, --exit geometric:0.5), and formats them.

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "salient/v1/translation.pb.h"

namespace salient {

// The valid forms of --selection and --exit: "dense, learned, ratio:0.05, ..." (engine/api/policies.h).
std::string SelectionForms();
std::string DepthForms();

// One of SelectionForms. Three values are those of encoder self-, decoder self- and cross-attention:
// "ratio:0.1,0.02,0.05". The server, which knows the model, checks their ranges.
absl::StatusOr<v1::SelectionControls> ParseSelection(std::string_view text);

// One of DepthForms. Several thresholds are those of the layers, from the first one. "verify:2" drafts at layer 2;
// "verify:2,4" drafts up to 4 tokens.
absl::StatusOr<v1::DepthControls> ParseDepth(std::string_view text);

// The text that ParseSelection or ParseDepth would parse to these controls.
std::string Describe(const v1::SelectionControls& controls);
std::string Describe(const v1::DepthControls& controls);

// The request's controls as flags of `salient translate`: "--selection learned --exit geometric". What no flag says
// follows in JSON. "no flags" if the request says nothing.
std::string FlagsOf(v1::TranslateDocumentRequest request);

}  // namespace salient

// What these APIs have no place for: a request's controls of selection, depth and search, and what the translation
// cost.
//
// A request brings them as the field `salient`, an object in JSON or its text in a form, or as the header
// X-Salient-Controls: {"selection": {"policy": "LEARNED"}, "depth": {"policy": "GEOMETRIC"}}. The names are those of
// TranslateDocumentRequest. A request that has either, if only {}, gets the report in the same way: the field `salient`
// in a reply of JSON, the header X-Salient-Report beside a document.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "salient/v1/translation.pb.h"
#include "server/compat/fields.h"

namespace salient {

struct Controls {
  v1::TranslateDocumentRequest request;  // all but document and languages
  bool wants_report = false;
};

// INVALID_ARGUMENT names the field and what is wrong with it.
absl::StatusOr<Controls> ReadControls(const HttpRequest& request, const Fields& fields);

// {"model", "operating_point", "report", "selection", "depth", "search"}, with the names of the .proto.
nlohmann::json ReportOf(const v1::TranslateDocumentResponse& response);

}  // namespace salient

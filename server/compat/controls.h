// Controls and cost reports, for which these APIs have no fields of their own.
//
// A request has controls of selection, depth and search in the field `salient` (an object in a JSON body, JSON text in
// a form) or in the header X-Salient-Controls: {"selection": {"policy": "LEARNED"}, "depth": {"policy": "GEOMETRIC"}}.
// The names are those of TranslateDocumentRequest. A request with either of them, even with {}, gets the report: in the
// field `salient` of a JSON reply, or in the header X-Salient-Report of a document.

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

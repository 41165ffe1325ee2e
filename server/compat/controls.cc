#include "server/compat/controls.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"

namespace salient {
namespace {

constexpr char kField[] = "salient", kHeader[] = "X-Salient-Controls";

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::Status Parse(const std::string& where, const std::string& text, v1::TranslateDocumentRequest* request) {
  // Beside protobuf's own bound on depth, which is too wide for a header.
  if (const auto bounded = ParseJson(text); !bounded.ok()) return Wrong(where, std::string(bounded.status().message()));
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, request);
  if (!parsed.ok()) {
    const std::string message(parsed.message());
    return Wrong(where, "not controls in JSON: " + message.substr(0, message.find('\n')));
  }
  if (request->has_document() || !request->source_language().empty() || !request->target_language().empty()) {
    return Wrong(where, "has the document or its languages, which belong into fields of their own");
  }
  if (request->trace()) return Wrong(where, "trace: a reply of this API has no place for it; use /v1/translate");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Controls> ReadControls(const HttpRequest& request, const Fields& fields) {
  Controls controls;
  const std::string header = request.header(kHeader);
  controls.wants_report = fields.Has(kField) || !header.empty();
  if (fields.Has(kField)) {
    const nlohmann::json& value = fields.values()[kField];
    const std::string text = value.is_string() ? value.get<std::string>()
                                               : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (absl::Status status = Parse(kField, text, &controls.request); !status.ok()) return status;
  } else if (!header.empty()) {
    if (absl::Status status = Parse(kHeader, header, &controls.request); !status.ok()) return status;
  }
  return controls;
}

nlohmann::json ReportOf(const v1::TranslateDocumentResponse& response) {
  v1::TranslateDocumentResponse report;
  report.set_model(response.model());
  report.set_operating_point(response.operating_point());
  *report.mutable_report() = response.report();
  *report.mutable_selection() = response.selection();
  *report.mutable_depth() = response.depth();
  *report.mutable_search() = response.search();
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(report, &text, options);
  return printed.ok() ? nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false) : nlohmann::json::object();
}

}  // namespace salient

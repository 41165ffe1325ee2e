#include "server/request/settings.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/request/proto.h"

namespace salient {
namespace {

// Of English and its neighbours under a 32k vocabulary. Used only to expect times, never to account.
constexpr int64_t kBytesPerToken = 4;

absl::Status CheckText(const std::string& text, int64_t max_bytes) {
  if (text.empty()) return absl::InvalidArgumentError("document.text is empty; send at least one character");
  const auto size = static_cast<int64_t>(text.size());
  if (size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("document.text: ", size, " bytes, and this server takes at most ", max_bytes,
                     " a document; send it in parts, or start the server with --max-document-bytes ", size));
  }
  return absl::OkStatus();
}

absl::StatusOr<TranslationOptions> ReadControls(const v1::TranslateDocumentRequest& request) {
  TranslationOptions options;
  auto selection = FromProto(request.selection());
  if (!selection.ok()) return selection.status();
  auto depth = FromProto(request.depth());
  if (!depth.ok()) return depth.status();
  options.selection = *std::move(selection);
  options.depth = *std::move(depth);
  options.search = FromProto(request.search());
  return options;
}

// Search is not part of the choice between quality and cost alone (a prefix, more hypotheses), so a request may set it
// beside a point; what it sets wins.
SearchOptions Overlay(SearchOptions base, const SearchOptions& over) {
  if (over.beam.has_value()) base.beam = over.beam;
  if (over.length_penalty.has_value()) base.length_penalty = over.length_penalty;
  if (over.max_length_ratio.has_value()) base.max_length_ratio = over.max_length_ratio;
  if (over.n_best.has_value()) base.n_best = over.n_best;
  if (!over.prefix.empty()) base.prefix = over.prefix;
  if (over.shortlist.has_value()) base.shortlist = over.shortlist;
  if (over.no_repeat.has_value()) base.no_repeat = over.no_repeat;
  return base;
}

absl::StatusOr<const OperatingPoint*> ChoosePoint(const v1::TranslateDocumentRequest& request, const ModelInfo& model,
                                                  int64_t tokens, const Expectation& expected) {
  if (request.setting_case() == v1::TranslateDocumentRequest::kOperatingPoint) {
    return FindOperatingPoint(model.operating_points, request.operating_point());
  }
  const double seconds = request.latency_target_seconds();
  if (!std::isfinite(seconds) || seconds <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("latency_target_seconds: ", seconds, " is not a time; give seconds above 0"));
  }
  return PointForLatency(model.operating_points, seconds, tokens, expected);
}

}  // namespace

absl::StatusOr<Settings> ReadSettings(const v1::TranslateDocumentRequest& request, const ModelInfo& model,
                                      int64_t max_document_bytes, const Expectation& expected) {
  Settings settings;
  if (auto status = CheckText(request.document().text(), max_document_bytes); !status.ok()) return status;
  settings.estimated_tokens = static_cast<int64_t>(request.document().text().size()) / kBytesPerToken + 1;
  auto segmentation = FromProto(request.document().segmentation());
  if (!segmentation.ok()) return segmentation.status();
  auto options = ReadControls(request);
  if (!options.ok()) return options.status();

  if (request.setting_case() != v1::TranslateDocumentRequest::SETTING_NOT_SET) {
    if (request.has_selection() || request.has_depth()) {
      const char* field = request.has_operating_point() ? "operating_point" : "latency_target_seconds";
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": decides selection and depth, so it cannot be set together with ",
                       request.has_selection() ? "selection" : "depth", "; leave one of the two out"));
    }
    auto point = ChoosePoint(request, model, settings.estimated_tokens, expected);
    if (!point.ok()) return point.status();
    settings.operating_point = *point;
    const SearchOptions search = Overlay((*point)->options.search, options->search);
    *options = (*point)->options;
    options->search = search;
  }
  if (!v1::Priority_IsValid(request.priority())) {
    return absl::InvalidArgumentError(absl::StrCat("priority: ", static_cast<int>(request.priority()),
                                                   " is none of PRIORITY_INTERACTIVE (1) and PRIORITY_BULK (2)"));
  }
  options->trace = request.trace();
  options->alignment = request.alignment();
  settings.request.bulk = request.priority() == v1::PRIORITY_BULK;
  settings.request.text = request.document().text();
  settings.request.segmentation = *segmentation;
  settings.request.source_language = request.source_language();
  settings.request.target_language = request.target_language();
  settings.request.options = *std::move(options);
  return settings;
}

}  // namespace salient

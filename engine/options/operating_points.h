// A model's measured settings (operating_points.json): named points on the Pareto front of quality and cost.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/api/options.h"
#include "engine/model/config.h"

namespace salient {

struct OperatingPoint {
  std::string name;
  TranslationOptions options;
  double bleu = 0;
  double attention_cost_ratio = 1;
  double mean_exit = 0;
  double seconds_per_1000_tokens = 0;  // of source, one document alone
};

// `{"points": [{"name": ..., "selection": {...}, "depth": {...}, "search": {...}, "bleu": ...}]}`, with the field names
// of the API's controls and policies in lower case. Every point is checked against the model.
absl::StatusOr<std::vector<OperatingPoint>> ParseOperatingPoints(std::string_view json, const ModelConfig& config);

// NOT_FOUND names the available points.
absl::StatusOr<const OperatingPoint*> FindOperatingPoint(const std::vector<OperatingPoint>& points,
                                                         const std::string& name);

// The point with the best BLEU that is expected to translate `source_tokens` within `seconds`; the fastest if none is.
// FAILED_PRECONDITION if the model has no measured points.
absl::StatusOr<const OperatingPoint*> PointForLatency(const std::vector<OperatingPoint>& points, double seconds,
                                                      int64_t source_tokens);

}  // namespace salient

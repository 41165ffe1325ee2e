// A model's measured settings (operating_points.json): named points on the Pareto front of quality and cost.

#pragma once

#include <cstdint>
#include <functional>
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

  // Of a document of so many source tokens, alone where the point was measured.
  double SecondsAlone(int64_t source_tokens) const {
    return seconds_per_1000_tokens * static_cast<double>(source_tokens) / 1000;
  }
};

// `{"points": [{"name": ..., "selection": {...}, "depth": {...}, "search": {...}, "bleu": ...}]}`, with the field names
// of the API's controls and policies in lower case. Every point is checked against the model.
absl::StatusOr<std::vector<OperatingPoint>> ParseOperatingPoints(std::string_view json, const ModelConfig& config);

// NOT_FOUND names the available points.
absl::StatusOr<const OperatingPoint*> FindOperatingPoint(const std::vector<OperatingPoint>& points,
                                                         const std::string& name);

// The time that a document is expected to take, from its measured time alone; both in seconds. It must not fall where
// the measured time rises.
using Expectation = std::function<double(double alone)>;

// The point with the best BLEU that is expected to translate `source_tokens` within `seconds`; the fastest if none is.
// FAILED_PRECONDITION if the model has no measured points.
absl::StatusOr<const OperatingPoint*> PointForLatency(const std::vector<OperatingPoint>& points, double seconds,
                                                      int64_t source_tokens, const Expectation& expected);

}  // namespace salient

// What the guard has to know of a model: how long its translations are, and how its probabilities go with quality. In
// the model's folder as guard.json, which training/salient/evaluation/guard.py fits:
//
//   {"length": {"shortest": 0.65, "longest": 2.0}, "quality": {"offset": 0, "scale": 100}}

#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace salient {

struct GuardCalibration {
  // Bounds on LengthRatio (signals.h).
  double shortest = 0.65, longest = 2.0;
  // Quality is offset + scale * p, where p is the geometric mean of the probabilities of a translation's tokens.
  double quality_offset = 0, quality_scale = 100;
};

// Parses guard.json. What it does not say has the values above. INVALID_ARGUMENT names the field and its range.
absl::StatusOr<GuardCalibration> ParseGuardCalibration(const std::string& json);

// Of a model's folder; the values above if it has no guard.json.
absl::StatusOr<GuardCalibration> ReadGuardCalibration(const std::string& folder);

}  // namespace salient

// An estimate of a translation's quality without a reference. docs/guard.md says how well it tells good from bad.

#pragma once

#include "documents/guard/calibration.h"
#include "documents/guard/signals.h"

namespace salient {

// The chrF that such a translation is expected to have against a human one, 0 to 100: offset + scale * p, where p is
// the geometric mean of its tokens' probabilities, less the part of the translation that only repeats or is a copy.
// Further signs do not make it better (docs/guard.md).
double EstimateQuality(const GuardSignals& signals, const GuardCalibration& calibration = {});

}  // namespace salient

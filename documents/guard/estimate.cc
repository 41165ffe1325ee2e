#include "documents/guard/estimate.h"

#include <algorithm>
#include <cmath>

namespace salient {

double EstimateQuality(const GuardSignals& signals, const GuardCalibration& calibration) {
  const double quality = calibration.quality_offset + calibration.quality_scale * std::exp(signals.log_probability);
  // Models are sure of what they repeat and copy. A word or two that are the same in both languages say nothing.
  constexpr int32_t kCopied = 3;
  const double sound = 1 - std::max(signals.repeated, signals.copied >= kCopied ? signals.copied_share : 0);
  return std::clamp(quality * sound, 0.0, 100.0);
}

}  // namespace salient

// What the guard says of a segment's translation: the faults that its signs (signals.h) amount to, and an estimate of
// its quality (estimate.h).

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "documents/guard/calibration.h"
#include "documents/guard/signals.h"
#include "engine/api/result.h"

namespace salient {

// With the numbers of the API (salient.v1.Fault).
enum class Fault : int32_t {
  kTooLong = 1,
  kTooShort = 2,
  kRepetition = 3,
  kNotCovered = 4,
  kNumbers = 5,
  kNames = 6,
  kUntranslated = 7,
  kUnlikely = 8,
  kLanguage = 9,
};
inline constexpr int kFaults = 9;

// In lower case, such as "too_long"; in metrics and reports.
const char* FaultName(Fault fault);

// In the order of their numbers.
std::vector<Fault> FaultsIn(const GuardSignals& signals, const GuardCalibration& calibration = {});

struct SegmentCheck {
  std::vector<Fault> faults;
  double quality = 0;
};

// `target_language` as SignalsOf has it.
SegmentCheck CheckSegment(const TranslatedSegment& segment, std::string_view target_language = "",
                          const GuardCalibration& calibration = {});

// Whether `second` is the better translation: its faults are fewer or lesser, or they are the same and its quality is
// greater.
bool IsBetter(const SegmentCheck& second, const SegmentCheck& first);

}  // namespace salient

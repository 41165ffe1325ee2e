#include "documents/guard/check.h"

#include <iterator>

#include "documents/guard/estimate.h"

namespace salient {
namespace {

// Bounds on the signs, chosen so that few human translations of the development sets lie beyond them (docs/guard.md); a
// model's own are in its calibration.
constexpr int32_t kLooped = 3;  // words
constexpr double kRepeated = 0.2;
constexpr int32_t kCopied = 3;  // words
constexpr double kCopiedShare = 0.4;
constexpr int32_t kGap = 6;         // words
constexpr double kUnlikely = -2.5;  // mean log probability

// How bad a fault is beside others: a lost text or number is worse than a doubtful one.
int32_t Weight(Fault fault) {
  switch (fault) {
    case Fault::kTooLong:
    case Fault::kTooShort:
    case Fault::kRepetition:
    case Fault::kUntranslated:
    case Fault::kLanguage:
      return 4;
    case Fault::kNotCovered:
    case Fault::kNumbers:
    case Fault::kNames:
      return 2;
    case Fault::kUnlikely:
      return 1;
  }
  return 0;
}

int32_t WeightOf(const std::vector<Fault>& faults) {
  int32_t weight = 0;
  for (const Fault fault : faults) weight += Weight(fault);
  return weight;
}

}  // namespace

const char* FaultName(Fault fault) {
  constexpr const char* kNames[] = {"too_long", "too_short",    "repetition", "not_covered", "numbers",
                                    "names",    "untranslated", "unlikely",   "language"};
  static_assert(std::size(kNames) == kFaults);
  return kNames[static_cast<int>(fault) - 1];
}

std::vector<Fault> FaultsIn(const GuardSignals& signals, const GuardCalibration& calibration) {
  std::vector<Fault> faults;
  const auto note = [&faults](bool there, Fault fault) {
    if (there) faults.push_back(fault);
  };
  note(signals.length_limited || LengthRatio(signals) > calibration.longest, Fault::kTooLong);
  note(LengthRatio(signals) < calibration.shortest, Fault::kTooShort);
  note(signals.looped >= kLooped || signals.repeated > kRepeated, Fault::kRepetition);
  note(signals.gap >= kGap, Fault::kNotCovered);
  // A digit alone may have become a word; another number in its place is none.
  const bool changed = signals.digits_missing > 0 && signals.numbers_added > 0;
  note(signals.numbers_missing > signals.digits_missing || changed, Fault::kNumbers);
  note(signals.literals_missing > 0, Fault::kNames);
  note(signals.copied >= kCopied && signals.copied_share > kCopiedShare, Fault::kUntranslated);
  note(signals.log_probability < kUnlikely, Fault::kUnlikely);
  note(signals.other_language, Fault::kLanguage);
  return faults;
}

SegmentCheck CheckSegment(const TranslatedSegment& segment, std::string_view target_language,
                          const GuardCalibration& calibration) {
  const GuardSignals signals = SignalsOf(segment, target_language);
  return {FaultsIn(signals, calibration), EstimateQuality(signals, calibration)};
}

bool IsBetter(const SegmentCheck& second, const SegmentCheck& first) {
  const int32_t before = WeightOf(first.faults), after = WeightOf(second.faults);
  return after != before ? after < before : second.quality > first.quality;
}

}  // namespace salient

// The result of a translation that the guard (documents/guard) may have looked at, and the listener that receives it.

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/guard/check.h"
#include "engine/api/result.h"

namespace salient {

// With the numbers of the API (salient.v1.Retry).
enum class RetryOutcome { kNone = 0, kReplaced = 1, kKept = 2, kNoBudget = 3, kFailed = 4 };

struct GuardVerdict {
  SegmentCheck check;  // of the translation that is returned
  RetryOutcome retry = RetryOutcome::kNone;
  std::vector<Fault> first_faults;  // where it was translated again
};

struct GuardCounts {
  int32_t flagged = 0, retried = 0, replaced = 0, retry_target_tokens = 0;
};

// Receives what TranslationListener does, with the guard's verdicts. One call at a time, from the engine's workers.
class CheckedListener {
 public:
  virtual ~CheckedListener() = default;
  // `verdict` is null without a guard.
  virtual void OnSegment(const TranslatedSegment& segment, const GuardVerdict* verdict) = 0;
  virtual void OnProgress(const TranslationProgress& progress) = 0;
  // `verdicts`: one for each segment; none without a guard. The report has the work of second translations.
  virtual void OnDone(absl::StatusOr<TranslationResult> result, std::vector<GuardVerdict> verdicts,
                      GuardCounts counts) = 0;
};

}  // namespace salient

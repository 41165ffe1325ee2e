// Translates a document with an engine, and looks at each segment with the guard (documents/guard): reports its faults,
// and has a faulty segment translated once more.
//
//   engine -> GuardedTranslation -> CheckedListener
//
// A second translation is a document of its own in the engine: the segment alone, dense, at full depth, with a beam and
// a bound on repetition. It is asked for as soon as the first one is known. The segments behind it wait for it, so that
// the listener gets all in order. Which segments are translated again depends on the document alone, except where its
// deadline is near.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/guard/check.h"
#include "engine/engine.h"

namespace salient {

enum class GuardMode { kOff, kReport, kRetry };

// With the numbers of the API (salient.v1.Retry).
enum class RetryOutcome { kNone = 0, kReplaced = 1, kKept = 2, kNoBudget = 3, kFailed = 4 };

struct GuardVerdict {
  SegmentCheck check;               // of the translation that is returned
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

// As Engine::Submit. `engine` must outlive the translation.
absl::StatusOr<std::shared_ptr<TranslationTicket>> TranslateGuarded(Engine& engine, TranslationRequest request,
                                                                    GuardMode mode,
                                                                    const GuardCalibration& calibration,
                                                                    std::shared_ptr<CheckedListener> listener);

}  // namespace salient

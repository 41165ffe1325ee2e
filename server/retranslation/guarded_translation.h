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

#include <memory>

#include "absl/status/statusor.h"
#include "documents/guard/calibration.h"
#include "engine/engine.h"
#include "server/retranslation/checked_listener.h"

namespace salient {

enum class GuardMode { kOff, kReport, kRetry };

// What is done of what was asked for: with several alternatives, which are those of the first search, kRetry reports.
GuardMode UsedGuard(GuardMode asked, const TranslationOptions& options);

// As Engine::Submit. `engine` must outlive the translation.
absl::StatusOr<std::shared_ptr<TranslationTicket>> TranslateGuarded(Engine& engine, TranslationRequest request,
                                                                    GuardMode mode, const GuardCalibration& calibration,
                                                                    std::shared_ptr<CheckedListener> listener);

}  // namespace salient

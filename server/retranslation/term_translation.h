// Translates a document with an engine and the guard, and has segments whose translation lacks a term translated again.
//
//   engine -> GuardedTranslation -> TermTranslation -> CheckedListener
//
// A translation for a term is a document of its own, like the guard's: the search is forced to begin with what was said
// before the term and with the term's target, and goes on freely. A segment that lacks several terms gets one after the
// other. The segments behind it wait, so that the listener gets all in order. It is asked for as soon as the
// translation before is known.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "documents/guard/calibration.h"
#include "engine/engine.h"
#include "server/retranslation/guarded_translation.h"

namespace salient {

// What a segment's translation must begin with, so that the first of the terms that it lacks stands in it; none if it
// lacks no term. The first `kept` bytes of the translation stay as they are. May be called from any thread.
using TermBeginning = std::function<std::optional<std::string>(const TranslatedSegment& segment, size_t kept)>;

struct TermTranslationOptions {
  GuardMode guard = GuardMode::kOff;
  GuardCalibration calibration;
  TermBeginning beginning;  // empty: the document has no terms
};

// As TranslateGuarded. The verdicts are those of the translations that the listener gets; GuardCounts has the tokens of
// translations for terms among those of second translations.
absl::StatusOr<std::shared_ptr<TranslationTicket>> TranslateWithTerms(Engine& engine, TranslationRequest request,
                                                                      TermTranslationOptions options,
                                                                      std::shared_ptr<CheckedListener> listener);

}  // namespace salient

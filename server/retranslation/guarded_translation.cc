#include "server/retranslation/guarded_translation.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "documents/guard/check.h"
#include "server/retranslation/second_translation.h"

namespace salient {
namespace {

// Source tokens that may be translated again: so many in any document, and a share of those translated so far.
constexpr int64_t kFreeTokens = 128;
constexpr double kShareOfTokens = 0.25;

class GuardedTranslation final : public SecondTranslations, public TranslationListener {
 public:
  GuardedTranslation(Engine& engine, const TranslationRequest& request, GuardMode mode,
                     const GuardCalibration& calibration, std::shared_ptr<CheckedListener> listener)
      : SecondTranslations(engine, request, std::move(listener)), mode_(mode), calibration_(calibration) {}

  void OnSegment(const TranslatedSegment& segment) override {
    std::lock_guard lock(mutex_);
    if (ended()) return;
    Check(segment, /*tell=*/true);
    Release();
  }

  void OnProgress(const TranslationProgress& progress) override {
    std::lock_guard lock(mutex_);
    if (!ended()) TellProgress(progress);
  }

  void OnDone(absl::StatusOr<TranslationResult> result) override {
    std::lock_guard lock(mutex_);
    if (ended()) return;
    if (result.ok()) {
      for (size_t i = taken(); i < result->segments.size(); ++i) Check(result->segments[i], /*tell=*/false);
    }
    Finish(std::move(result));
  }

 private:
  // All of these with mutex_ held.

  void Check(const TranslatedSegment& segment, bool tell) {
    if (mode_ == GuardMode::kOff) return Hold(segment, std::nullopt, tell);
    SegmentCheck check = CheckSegment(segment, target_language_, calibration_);
    const bool faulty = !check.faults.empty();
    tokens_ += segment.source_tokens;
    counts_.flagged += faulty;
    Hold(segment, GuardVerdict{std::move(check)}, tell);
    if (faulty && mode_ == GuardMode::kRetry) verdicts_.back().retry = TryAgain(segment);
  }

  // kKept: on its way.
  RetryOutcome TryAgain(const TranslatedSegment& segment) {
    const auto allowed = kFreeTokens + static_cast<int64_t>(kShareOfTokens * static_cast<double>(tokens_));
    if (tokens_again_ + segment.source_tokens > allowed) return RetryOutcome::kNoBudget;
    tokens_again_ += segment.source_tokens;
    if (!Ask(segment.index, SecondRequest(request_, segment))) return RetryOutcome::kFailed;
    ++counts_.retried;
    return RetryOutcome::kKept;
  }

  void Consider(int32_t index, absl::StatusOr<TranslatedSegment> second) override {
    GuardVerdict& verdict = verdicts_[index];
    if (!second.ok()) {
      verdict.retry = RetryOutcome::kFailed;
      return;
    }
    SegmentCheck check = CheckSegment(*second, target_language_, calibration_);
    verdict.first_faults = verdict.check.faults;
    if (!IsBetter(check, verdict.check)) return;
    verdict.retry = RetryOutcome::kReplaced;
    verdict.check = std::move(check);
    ++counts_.replaced;
    Replace(index, *std::move(second));
  }

  const GuardMode mode_;
  const GuardCalibration calibration_;
  int64_t tokens_ = 0, tokens_again_ = 0;  // of the source
};

}  // namespace

GuardMode UsedGuard(GuardMode asked, const TranslationOptions& options) {
  return asked == GuardMode::kRetry && options.search.n_best.value_or(1) > 1 ? GuardMode::kReport : asked;
}

absl::StatusOr<std::shared_ptr<TranslationTicket>> TranslateGuarded(Engine& engine, TranslationRequest request,
                                                                    GuardMode mode, const GuardCalibration& calibration,
                                                                    std::shared_ptr<CheckedListener> listener) {
  mode = UsedGuard(mode, request.options);
  auto translation = std::make_shared<GuardedTranslation>(engine, request, mode, calibration, std::move(listener));
  auto ticket = engine.Submit(std::move(request), translation);
  if (!ticket.ok()) return ticket.status();
  translation->tickets()->Add(*std::move(ticket));
  return translation->tickets();
}

}  // namespace salient

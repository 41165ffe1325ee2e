#include "server/guarded_translation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "server/second_translation.h"

namespace salient {
namespace {

// Source tokens that may be translated again: so many in any document, and a share of those translated so far.
constexpr int64_t kFreeTokens = 128;
constexpr double kShareOfTokens = 0.25;

class GuardedTranslation final : public TranslationListener, public std::enable_shared_from_this<GuardedTranslation> {
 public:
  GuardedTranslation(Engine& engine, TranslationRequest request, GuardMode mode, const GuardCalibration& calibration,
                     std::shared_ptr<CheckedListener> listener)
      : engine_(engine),
        request_(std::move(request)),
        mode_(mode),
        target_language_(request_.target_language.empty() ? engine.info().config.target_language
                                                          : request_.target_language),
        calibration_(calibration),
        listener_(std::move(listener)) {}

  void OnSegment(const TranslatedSegment& segment) override {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    if (mode_ == GuardMode::kOff) return listener_->OnSegment(segment, nullptr);
    Take(segment, /*tell=*/true);
    Release();
  }

  // Segments that are held back are not done.
  void OnProgress(const TranslationProgress& progress) override {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    TranslationProgress told = progress;
    if (mode_ != GuardMode::kOff) told.segments_done = std::min(told.segments_done, released_);
    listener_->OnProgress(told);
  }

  void OnDone(absl::StatusOr<TranslationResult> result) override {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    if (!result.ok() || mode_ == GuardMode::kOff) return End(std::move(result));
    for (size_t i = verdicts_.size(); i < result->segments.size(); ++i) Take(result->segments[i], /*tell=*/false);
    done_at_ = absl::Now();
    result_ = *std::move(result);
    Release();
    EndIfComplete();
  }

  // Cancels all of its translations in the engine.
  const std::shared_ptr<TicketGroup>& tickets() const { return tickets_; }

 private:
  // Takes the second translation of a segment.
  class Second final : public TranslationListener {
   public:
    Second(std::shared_ptr<GuardedTranslation> owner, int32_t index) : owner_(std::move(owner)), index_(index) {}
    void OnDone(absl::StatusOr<TranslationResult> result) override { owner_->TakeSecond(index_, std::move(result)); }

   private:
    const std::shared_ptr<GuardedTranslation> owner_;
    const int32_t index_;
  };

  struct Held {
    TranslatedSegment segment;
    bool waits = false;  // for its second translation
    bool tell = true;    // the listener is to be told of it
  };

  // All of these with mutex_ held, but for TakeSecond.

  void Take(const TranslatedSegment& segment, bool tell) {
    GuardVerdict verdict{CheckSegment(segment, target_language_, calibration_)};
    Held held{segment, false, tell};
    tokens_ += segment.source_tokens;
    if (!verdict.check.faults.empty()) {
      ++counts_.flagged;
      if (mode_ == GuardMode::kRetry) verdict.retry = TryAgain(segment);
      held.waits = verdict.retry == RetryOutcome::kKept;
    }
    verdicts_.push_back(std::move(verdict));
    held_.push_back(std::move(held));
  }

  // kKept: on its way.
  RetryOutcome TryAgain(const TranslatedSegment& segment) {
    const auto allowed = kFreeTokens + static_cast<int64_t>(kShareOfTokens * static_cast<double>(tokens_));
    if (tokens_again_ + segment.source_tokens > allowed) return RetryOutcome::kNoBudget;
    tokens_again_ += segment.source_tokens;
    auto ticket = engine_.Submit(SecondRequest(request_, segment),
                                 std::make_shared<Second>(shared_from_this(), segment.index));
    if (!ticket.ok()) return RetryOutcome::kFailed;
    ++waiting_;
    ++counts_.retried;
    tickets_->Add(*std::move(ticket));
    return RetryOutcome::kKept;
  }

  void TakeSecond(int32_t index, absl::StatusOr<TranslationResult> result) {
    std::lock_guard lock(mutex_);
    --waiting_;
    if (ended_) return;
    Held& held = held_[index - released_];
    held.waits = false;
    GuardVerdict& verdict = verdicts_[index];
    if (!result.ok() || result->segments.size() != 1) {
      verdict.retry = RetryOutcome::kFailed;
    } else {
      counts_.retry_target_tokens += result->report.target_tokens;
      reports_.push_back(result->report);
      TranslatedSegment& second = result->segments[0];
      SegmentCheck check = CheckSegment(second, target_language_, calibration_);
      verdict.first_faults = verdict.check.faults;
      if (IsBetter(check, verdict.check)) {
        verdict.retry = RetryOutcome::kReplaced;
        verdict.check = std::move(check);
        ++counts_.replaced;
        second.index = index;
        replaced_[index] = second;
        held.segment = std::move(second);
      }
    }
    Release();
    EndIfComplete();
  }

  // Tells the listener of all segments that wait for nothing, in order.
  void Release() {
    for (; !held_.empty() && !held_.front().waits; held_.pop_front(), ++released_) {
      if (held_.front().tell) listener_->OnSegment(held_.front().segment, &verdicts_[released_]);
    }
  }

  void EndIfComplete() {
    if (!result_.has_value() || waiting_ > 0) return;
    if (tickets_->cancelled()) return End(absl::CancelledError("the request was cancelled"));
    ReplaceSegments(std::move(replaced_), &*result_);
    AddWork(reports_, done_at_, &result_->report);
    End(*std::move(result_));
  }

  void End(absl::StatusOr<TranslationResult> result) {
    ended_ = true;
    const std::shared_ptr<CheckedListener> listener = std::move(listener_);
    listener->OnDone(std::move(result), std::move(verdicts_), counts_);
    if (waiting_ > 0) tickets_->Cancel();
  }

  Engine& engine_;
  const TranslationRequest request_;
  const GuardMode mode_;
  const std::string target_language_;
  const GuardCalibration calibration_;
  const std::shared_ptr<TicketGroup> tickets_ = std::make_shared<TicketGroup>();  // a listener may cancel within a call

  std::mutex mutex_;  // of all below; held while the listener is called
  std::shared_ptr<CheckedListener> listener_;
  std::deque<Held> held_;              // not yet told: the first is segment released_
  std::vector<GuardVerdict> verdicts_;  // of each segment so far
  std::map<int32_t, TranslatedSegment> replaced_;
  std::vector<CostReport> reports_;  // of second translations
  GuardCounts counts_;
  int64_t tokens_ = 0, tokens_again_ = 0;  // of the source
  int32_t released_ = 0, waiting_ = 0;
  std::optional<TranslationResult> result_;
  absl::Time done_at_;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<std::shared_ptr<TranslationTicket>> TranslateGuarded(Engine& engine, TranslationRequest request,
                                                                    GuardMode mode,
                                                                    const GuardCalibration& calibration,
                                                                    std::shared_ptr<CheckedListener> listener) {
  // Alternatives are those of the first search.
  if (mode == GuardMode::kRetry && request.options.search.n_best.value_or(1) > 1) mode = GuardMode::kReport;
  TranslationRequest kept = request;
  kept.text.clear();  // a segment's stands in its place
  auto translation =
      std::make_shared<GuardedTranslation>(engine, std::move(kept), mode, calibration, std::move(listener));
  auto ticket = engine.Submit(std::move(request), translation);
  if (!ticket.ok()) return ticket.status();
  translation->tickets()->Add(*std::move(ticket));
  return translation->tickets();
}

}  // namespace salient

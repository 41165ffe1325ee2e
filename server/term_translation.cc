#include "server/term_translation.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "documents/guard/check.h"
#include "server/second_translation.h"

namespace salient {
namespace {

constexpr int32_t kMostForTerms = 8;  // translations of a segment for its terms

class TermTranslation final : public CheckedListener, public std::enable_shared_from_this<TermTranslation> {
 public:
  TermTranslation(Engine& engine, TranslationRequest request, TermTranslationOptions options,
                  std::shared_ptr<CheckedListener> listener)
      : engine_(engine),
        request_(std::move(request)),
        options_(std::move(options)),
        target_language_(request_.target_language.empty() ? engine.info().config.target_language
                                                          : request_.target_language),
        listener_(std::move(listener)) {}

  const std::shared_ptr<TicketGroup>& tickets() const { return tickets_; }

  void OnSegment(const TranslatedSegment& segment, const GuardVerdict* verdict) override {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    Take(segment, verdict, /*tell=*/true);
    Release();
  }

  // Segments that are held back are not done.
  void OnProgress(const TranslationProgress& progress) override {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    TranslationProgress told = progress;
    told.segments_done = std::min(told.segments_done, released_);
    listener_->OnProgress(told);
  }

  void OnDone(absl::StatusOr<TranslationResult> result, std::vector<GuardVerdict> verdicts,
              GuardCounts counts) override {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    verdicts_ = std::move(verdicts);
    counts_.flagged = counts.flagged;
    counts_.retried = counts.retried;
    counts_.replaced = counts.replaced;
    counts_.retry_target_tokens += counts.retry_target_tokens;
    if (!result.ok()) return End(std::move(result));
    for (size_t i = released_ + held_.size(); i < result->segments.size(); ++i) {
      Take(result->segments[i], verdicts_.empty() ? nullptr : &verdicts_[i], /*tell=*/false);
    }
    done_at_ = absl::Now();
    result_ = *std::move(result);
    Release();
    EndIfComplete();
  }

 private:
  class WithTerm final : public TranslationListener {
   public:
    WithTerm(std::shared_ptr<TermTranslation> owner, int32_t index) : owner_(std::move(owner)), index_(index) {}
    void OnDone(absl::StatusOr<TranslationResult> result) override { owner_->TakeWithTerm(index_, std::move(result)); }

   private:
    const std::shared_ptr<TermTranslation> owner_;
    const int32_t index_;
  };

  struct Held {
    TranslatedSegment segment;
    std::optional<GuardVerdict> verdict;
    bool tell = true;       // the listener is to be told of it
    bool waits = false;     // for a translation with a term
    int32_t asked = 0;      // how many were asked for
    std::string beginning;  // that the last of these was forced to have
  };

  // All of these with mutex_ held, but for TakeWithTerm.

  void Take(const TranslatedSegment& segment, const GuardVerdict* verdict, bool tell) {
    held_.push_back({.segment = segment, .verdict = {}, .tell = tell});
    if (verdict != nullptr) held_.back().verdict = *verdict;
    AskForTerm(held_.back());
  }

  void AskForTerm(Held& held) {
    const TranslatedSegment& segment = held.segment;
    // A beginning is forced on a document's first chunk alone.
    const bool fits = segment.source_tokens < engine_.info().config.chunk_tokens;
    if (!fits || held.asked == kMostForTerms) return;
    const size_t given = segment.index == 0 ? request_.options.search.prefix.size() : 0;
    std::optional<std::string> beginning = options_.beginning(segment, std::max(given, held.beginning.size()));
    if (!beginning.has_value()) return;
    held.beginning = *std::move(beginning);
    ++held.asked;
    TranslationRequest request = SecondRequest(request_, segment);
    request.options.search.prefix = held.beginning;
    request.options.search.n_best = 1;
    auto ticket = engine_.Submit(std::move(request), std::make_shared<WithTerm>(shared_from_this(), segment.index));
    if (!ticket.ok()) return;
    held.waits = true;
    ++waiting_;
    tickets_->Add(*std::move(ticket));
  }

  void TakeWithTerm(int32_t index, absl::StatusOr<TranslationResult> result) {
    std::lock_guard lock(mutex_);
    --waiting_;
    if (ended_) return;
    Held& held = held_[index - released_];
    held.waits = false;
    if (result.ok() && result->segments.size() == 1) {
      counts_.retry_target_tokens += result->report.target_tokens;
      reports_.push_back(result->report);
      Accept(std::move(result->segments[0]), index, &held);
    }
    Release();
    EndIfComplete();
  }

  // Whether the model was not led astray by what it would not have said, and was able to say it. That this is unlikely
  // is no fault. Of equal faults the translation with the term has the better.
  static bool IsSound(const SegmentCheck& with_term, const SegmentCheck& before) {
    SegmentCheck after{with_term.faults, 1};
    std::erase(after.faults, Fault::kUnlikely);
    return IsBetter(after, {before.faults, 0});
  }

  void Accept(TranslatedSegment other, int32_t index, Held* held) {
    SegmentCheck check = Check(other);
    if (!other.text.starts_with(held->beginning) || !IsSound(check, Check(held->segment))) return;
    other.index = index;
    replaced_[index] = other;
    held->segment = std::move(other);
    if (held->verdict.has_value()) held->verdict->check = checks_[index] = std::move(check);
    AskForTerm(*held);
  }

  SegmentCheck Check(const TranslatedSegment& segment) const {
    return CheckSegment(segment, target_language_, options_.calibration);
  }

  // Tells the listener of all segments that wait for nothing, in order.
  void Release() {
    for (; !held_.empty() && !held_.front().waits; held_.pop_front(), ++released_) {
      const Held& held = held_.front();
      if (held.tell) listener_->OnSegment(held.segment, held.verdict.has_value() ? &*held.verdict : nullptr);
    }
  }

  void EndIfComplete() {
    if (!result_.has_value() || waiting_ > 0) return;
    if (tickets_->cancelled()) return End(absl::CancelledError("the request was cancelled"));
    ReplaceSegments(std::move(replaced_), &*result_);
    for (auto& [index, check] : checks_) verdicts_[index].check = std::move(check);
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
  const TermTranslationOptions options_;
  const std::string target_language_;
  const std::shared_ptr<TicketGroup> tickets_ = std::make_shared<TicketGroup>();

  std::mutex mutex_;  // of all below; held while the listener is called
  std::shared_ptr<CheckedListener> listener_;
  std::deque<Held> held_;  // not yet told: the first is segment released_
  std::map<int32_t, TranslatedSegment> replaced_;
  std::map<int32_t, SegmentCheck> checks_;  // of those, where there is a guard
  std::vector<CostReport> reports_;         // of translations for terms
  std::vector<GuardVerdict> verdicts_;
  GuardCounts counts_;
  int32_t released_ = 0, waiting_ = 0;
  std::optional<TranslationResult> result_;
  absl::Time done_at_;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<std::shared_ptr<TranslationTicket>> TranslateWithTerms(Engine& engine, TranslationRequest request,
                                                                      TermTranslationOptions options,
                                                                      std::shared_ptr<CheckedListener> listener) {
  const GuardMode guard = options.guard;
  const GuardCalibration calibration = options.calibration;
  if (!options.beginning) return TranslateGuarded(engine, std::move(request), guard, calibration, std::move(listener));
  TranslationRequest kept = request;
  kept.text.clear();  // a segment's stands in its place
  auto translation =
      std::make_shared<TermTranslation>(engine, std::move(kept), std::move(options), std::move(listener));
  auto ticket = TranslateGuarded(engine, std::move(request), guard, calibration, translation);
  if (!ticket.ok()) return ticket.status();
  translation->tickets()->Add(*std::move(ticket));
  return translation->tickets();
}

}  // namespace salient

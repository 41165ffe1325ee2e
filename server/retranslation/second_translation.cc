#include "server/retranslation/second_translation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "engine/base/check.h"

namespace salient {
namespace {

constexpr int32_t kBeam = 4;
constexpr int32_t kNoRepeat = 4;  // tokens; a word or two
// The part of the time to the deadline that a second translation may take, so that the first one can still be sent.
constexpr double kShareOfTime = 0.8;

TranslationRequest WithoutText(TranslationRequest request) {
  request.text.clear();
  return request;
}

// Puts other translations, by the index of their segments, into a result.
void ReplaceSegments(std::map<int32_t, TranslatedSegment> replaced, TranslationResult* result) {
  if (replaced.empty()) return;
  SALIENT_CHECK(result->begins.size() == result->segments.size());
  std::string text;
  std::vector<size_t> begins = result->begins;
  size_t done = 0;
  auto next = replaced.begin();
  for (size_t i = 0; i < begins.size(); ++i) {
    const size_t begin = result->begins[i];
    text.append(result->text, done, begin - done);
    done = begin;
    begins[i] = text.size();
    if (next == replaced.end() || next->first != static_cast<int32_t>(i)) continue;
    TranslatedSegment& segment = result->segments[i];
    text.append(next->second.text);
    done += segment.text.size();
    segment = std::move(next->second);
    ++next;
  }
  result->text = text.append(result->text, done);
  result->begins = std::move(begins);
}

// Adds the work of second translations to the report of a document whose first translation was done at `done_at`.
// Ratios stay relative to dense attention for the first one.
void AddWork(const std::vector<CostReport>& second, absl::Time done_at, CostReport* report) {
  for (const CostReport& work : second) {
    report->encode_seconds += work.encode_seconds;
    report->decoder_flops += work.decoder_flops;
    report->peak_kv_bytes = std::max(report->peak_kv_bytes, work.peak_kv_bytes);
    if (report->dense_attention <= 0) continue;
    const double weight = work.dense_attention / report->dense_attention;
    report->attention_cost_ratio += weight * work.attention_cost_ratio;
    report->attention_executed_ratio += weight * work.attention_executed_ratio;
  }
  report->total_seconds += absl::ToDoubleSeconds(absl::Now() - done_at);
  report->decode_seconds = std::max(0.0, report->total_seconds - report->queue_seconds - report->encode_seconds);
}

}  // namespace

TranslationRequest SecondRequest(const TranslationRequest& first, const TranslatedSegment& segment) {
  TranslationRequest request = first;
  request.text = segment.source;
  request.segmentation = Segmentation::kLines;
  request.continues = true;
  request.options.selection = {.policy = SelectionPolicy::kDense};
  request.options.depth = {};
  SearchOptions& search = request.options.search;
  search.beam = std::max(search.beam.value_or(1), kBeam);
  search.no_repeat = search.no_repeat.value_or(kNoRepeat);
  search.shortlist.reset();
  if (segment.index > 0) search.prefix.clear();
  if (first.deadline != absl::InfiniteFuture()) {
    const absl::Time now = absl::Now();
    request.deadline = now + kShareOfTime * (first.deadline - now);
  }
  return request;
}

void TicketGroup::Add(std::shared_ptr<TranslationTicket> ticket) {
  {
    std::lock_guard lock(mutex_);
    if (!cancelled_) return tickets_.push_back(std::move(ticket));
  }
  ticket->Cancel();
}

void TicketGroup::Cancel() {
  std::vector<std::shared_ptr<TranslationTicket>> tickets;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    tickets.swap(tickets_);
  }
  for (const auto& ticket : tickets) ticket->Cancel();
}

bool TicketGroup::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

SecondTranslations::SecondTranslations(Engine& engine, const TranslationRequest& request,
                                       std::shared_ptr<CheckedListener> listener)
    : engine_(engine),
      request_(WithoutText(request)),
      target_language_(request.target_language.empty() ? engine.info().config.target_language
                                                       : request.target_language),
      listener_(std::move(listener)) {}

class SecondTranslations::Second final : public TranslationListener {
 public:
  Second(std::shared_ptr<SecondTranslations> owner, int32_t index) : owner_(std::move(owner)), index_(index) {}
  void OnDone(absl::StatusOr<TranslationResult> result) override { owner_->TakeSecond(index_, std::move(result)); }

 private:
  const std::shared_ptr<SecondTranslations> owner_;
  const int32_t index_;
};

void SecondTranslations::Hold(const TranslatedSegment& segment, std::optional<GuardVerdict> verdict, bool tell) {
  held_.push_back({.segment = segment, .tell = tell});
  if (verdict.has_value()) verdicts_.push_back(*std::move(verdict));
}

bool SecondTranslations::Ask(int32_t index, TranslationRequest request) {
  auto ticket = engine_.Submit(std::move(request), std::make_shared<Second>(shared_from_this(), index));
  if (!ticket.ok()) return false;
  held_[index - released_].waits = true;
  ++waiting_;
  tickets_->Add(*std::move(ticket));
  return true;
}

void SecondTranslations::TakeSecond(int32_t index, absl::StatusOr<TranslationResult> result) {
  std::lock_guard lock(mutex_);
  --waiting_;
  if (ended_) return;
  held_[index - released_].waits = false;
  if (result.ok() && result->segments.size() == 1) {
    counts_.retry_target_tokens += result->report.target_tokens;
    reports_.push_back(result->report);
    result->segments[0].index = index;
    Consider(index, std::move(result->segments[0]));
  } else {
    Consider(index, result.ok() ? absl::InternalError("a segment became several") : result.status());
  }
  Release();
  EndIfComplete();
}

void SecondTranslations::Replace(int32_t index, TranslatedSegment segment) {
  replaced_[index] = segment;
  held_[index - released_].segment = std::move(segment);
}

void SecondTranslations::Release() {
  for (; !held_.empty() && !held_.front().waits; held_.pop_front(), ++released_) {
    const Held& first = held_.front();
    if (first.tell) listener_->OnSegment(first.segment, verdicts_.empty() ? nullptr : &verdicts_[released_]);
  }
}

void SecondTranslations::TellProgress(TranslationProgress progress) {
  progress.segments_done = std::min(progress.segments_done, released_);
  listener_->OnProgress(progress);
}

void SecondTranslations::Finish(absl::StatusOr<TranslationResult> result) {
  if (!result.ok()) return End(std::move(result));
  done_at_ = absl::Now();
  result_ = *std::move(result);
  Release();
  EndIfComplete();
}

void SecondTranslations::EndIfComplete() {
  if (!result_.has_value() || waiting_ > 0) return;
  if (tickets_->cancelled()) return End(absl::CancelledError("the request was cancelled"));
  ReplaceSegments(std::move(replaced_), &*result_);
  AddWork(reports_, done_at_, &result_->report);
  End(*std::move(result_));
}

void SecondTranslations::End(absl::StatusOr<TranslationResult> result) {
  ended_ = true;
  const std::shared_ptr<CheckedListener> listener = std::move(listener_);
  listener->OnDone(std::move(result), std::move(verdicts_), counts_);
  if (waiting_ > 0) tickets_->Cancel();
}

}  // namespace salient

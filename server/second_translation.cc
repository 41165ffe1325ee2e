#include "server/second_translation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "engine/base/check.h"

namespace salient {
namespace {

constexpr int32_t kBeam = 4;
constexpr int32_t kNoRepeat = 4;  // tokens; a word or two
// The part of the time to the deadline that a second translation may take, so that the first one can still be sent.
constexpr double kShareOfTime = 0.8;

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

}  // namespace salient

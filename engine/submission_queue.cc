#include "engine/submission_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace salient {
namespace {

constexpr int64_t kBytesPerToken = 4;  // about, until a document is cut and its tokens are known

absl::Status Full(int64_t count, const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the queue is full: ", count, " ", what, " are waiting; try again later"));
}

}  // namespace

int64_t SubmissionQueue::tokens_waiting() const { return tokens_cut_ + uncut_bytes_ / kBytesPerToken; }

absl::Status SubmissionQueue::CheckRoom(int64_t bytes) const {
  if (!ended_.ok()) return ended_;
  const auto waiting = static_cast<int64_t>(waiting_.size());
  if (waiting == 0) return absl::OkStatus();
  if (waiting >= options_.max_queued_documents) return Full(waiting, "documents");
  if (bytes_ + bytes > options_.max_queued_bytes) return Full(bytes_, "bytes of documents");
  if (tokens_waiting() + bytes / kBytesPerToken > options_.max_queued_tokens) return Full(tokens_waiting(), "tokens");
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SubmissionQueue::Enter(int64_t bytes, absl::Time now, bool continues) {
  std::lock_guard lock(mutex_);
  if (absl::Status room = continues ? ended_ : CheckRoom(bytes); !room.ok()) return room;
  waiting_[next_document_] = {now, bytes};
  bytes_ += bytes;
  uncut_bytes_ += bytes;
  return next_document_++;
}

absl::Status SubmissionQueue::Deliver(Arrival& arrival) {
  std::lock_guard lock(mutex_);
  if (!ended_.ok()) return ended_;
  if (const auto found = waiting_.find(arrival.document); found != waiting_.end() && !found->second.cut) {
    found->second.cut = true;
    uncut_bytes_ -= found->second.bytes;
  }
  for (const Demand& demand : arrival.demands) tokens_cut_ += demand.source_tokens;
  arrivals_.push_back(std::move(arrival));
  return absl::OkStatus();
}

std::vector<Arrival> SubmissionQueue::TakeArrivals() {
  std::lock_guard lock(mutex_);
  return std::exchange(arrivals_, {});
}

void SubmissionQueue::StopWaiting(int64_t document) {
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(document);
  if (found == waiting_.end()) return;
  bytes_ -= found->second.bytes;
  if (!found->second.cut) uncut_bytes_ -= found->second.bytes;
  waiting_.erase(found);
}

bool SubmissionQueue::waits(int64_t document) const {
  std::lock_guard lock(mutex_);
  return waiting_.contains(document);
}

void SubmissionQueue::SetTokensCut(int64_t tokens) {
  std::lock_guard lock(mutex_);
  tokens_cut_ = tokens;
  for (const Arrival& arrival : arrivals_) {
    for (const Demand& demand : arrival.demands) tokens_cut_ += demand.source_tokens;
  }
}

std::vector<Arrival> SubmissionQueue::End(const absl::Status& reason) {
  std::lock_guard lock(mutex_);
  if (ended_.ok()) ended_ = reason;
  waiting_.clear();
  bytes_ = uncut_bytes_ = tokens_cut_ = 0;
  return std::exchange(arrivals_, {});
}

absl::Status SubmissionQueue::ended() const {
  std::lock_guard lock(mutex_);
  return ended_;
}

void SubmissionQueue::Describe(absl::Time now, EngineStatus& status) const {
  std::lock_guard lock(mutex_);
  status.documents_waiting = static_cast<int32_t>(waiting_.size());
  status.tokens_waiting = tokens_waiting();
  if (!waiting_.empty()) status.oldest_waiting_seconds = absl::ToDoubleSeconds(now - waiting_.begin()->second.since);
}

}  // namespace salient

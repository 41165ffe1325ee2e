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

absl::StatusOr<int64_t> SubmissionQueue::Enter(Submission submission) {
  const auto bytes = static_cast<int64_t>(submission.request.text.size());
  const absl::Time deadline = submission.request.deadline;
  std::lock_guard lock(mutex_);
  if (absl::Status room = submission.request.continues ? ended_ : CheckRoom(bytes); !room.ok()) return room;
  Waiting& waiting = waiting_[next_document_];
  waiting = {.since = submission.submitted_at, .deadline = deadline, .bytes = bytes, .listener = submission.listener};
  waiting.submission = std::make_unique<Submission>(std::move(submission));
  if (deadline != absl::InfiniteFuture()) deadlines_.emplace(deadline, next_document_);
  bytes_ += bytes;
  uncut_bytes_ += bytes;
  return next_document_++;
}

std::optional<Submission> SubmissionQueue::TakeToCut(int64_t document) {
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(document);
  if (found == waiting_.end() || found->second.submission == nullptr) return std::nullopt;
  return std::move(*std::exchange(found->second.submission, nullptr));
}

absl::Status SubmissionQueue::Deliver(Arrival& arrival) {
  std::lock_guard lock(mutex_);
  if (!ended_.ok()) return ended_;
  const auto found = waiting_.find(arrival.document);
  if (found == waiting_.end()) return absl::CancelledError("the document was withdrawn");
  Waiting& waiting = found->second;
  waiting.cut = true;
  waiting.listener = nullptr;
  uncut_bytes_ -= waiting.bytes;
  deadlines_.erase({waiting.deadline, arrival.document});
  for (const Demand& demand : arrival.demands) tokens_cut_ += demand.source_tokens;
  arrivals_.push_back(std::move(arrival));
  return absl::OkStatus();
}

std::vector<Arrival> SubmissionQueue::TakeArrivals() {
  std::lock_guard lock(mutex_);
  return std::exchange(arrivals_, {});
}

SubmissionQueue::Waiting SubmissionQueue::Remove(std::map<int64_t, Waiting>::iterator at) {
  Waiting waiting = std::move(at->second);
  bytes_ -= waiting.bytes;
  if (!waiting.cut) {
    uncut_bytes_ -= waiting.bytes;
    deadlines_.erase({waiting.deadline, at->first});
  }
  waiting_.erase(at);
  return waiting;
}

std::shared_ptr<TranslationListener> SubmissionQueue::Withdraw(int64_t document) {
  Waiting removed;  // its text goes after the lock
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(document);
  if (found == waiting_.end() || found->second.cut) return nullptr;
  removed = Remove(found);
  return removed.listener;
}

std::vector<std::shared_ptr<TranslationListener>> SubmissionQueue::WithdrawLate(absl::Time now) {
  std::vector<Waiting> removed;
  std::vector<std::shared_ptr<TranslationListener>> listeners;
  std::lock_guard lock(mutex_);
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    removed.push_back(Remove(waiting_.find(deadlines_.begin()->second)));
    listeners.push_back(removed.back().listener);
  }
  return listeners;
}

absl::Time SubmissionQueue::next_deadline() const {
  std::lock_guard lock(mutex_);
  return deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
}

bool SubmissionQueue::StopWaiting(int64_t document) {
  Waiting removed;
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(document);
  if (found == waiting_.end()) return false;
  removed = Remove(found);
  return true;
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
  std::erase_if(waiting_, [](const auto& entry) { return entry.second.cut; });
  bytes_ = uncut_bytes_;
  tokens_cut_ = 0;
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

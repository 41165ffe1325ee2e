#include "server/rpc/outbox.h"

#include <utility>

namespace salient {

// Everywhere what messages keep is let go of without the lock: it may be anything.
bool Outbox::Push(grpc::ByteBuffer message, std::shared_ptr<void> keep) {
  std::deque<Message> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  if (broken_ || status_.has_value()) return true;
  if (!messages_.empty() && bytes_ + message.Length() > kMaxUnsentBytes) {
    broken_ = true;
    dropped.swap(messages_);
    return false;
  }
  bytes_ += message.Length();
  Message& last = messages_.emplace_back();
  last.bytes.Swap(&message);
  last.keep = std::move(keep);
  return true;
}

void Outbox::SetProgress(grpc::ByteBuffer message) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (broken_ || status_.has_value()) return;
  progress_ = std::move(message);
}

void Outbox::Close(grpc::Status status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!status_.has_value()) status_ = std::move(status);
  progress_.reset();
}

void Outbox::Written(bool ok) {
  std::deque<Message> dropped;
  std::shared_ptr<void> kept;
  std::lock_guard<std::mutex> lock(mutex_);
  kept.swap(keep_);
  writing_ = false;
  ++written_;
  if (ok) return;
  broken_ = true;
  dropped.swap(messages_);
  progress_.reset();
}

Outbox::Act Outbox::Next() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (writing_ || finished_) return Act::kNothing;
  if (!messages_.empty()) {
    current_.Swap(&messages_.front().bytes);
    keep_ = std::move(messages_.front().keep);
    messages_.pop_front();
    bytes_ -= current_.Length();
    writing_ = true;
    return Act::kWrite;
  }
  if (progress_.has_value()) {
    current_ = *std::move(progress_);
    progress_.reset();
    writing_ = true;
    return Act::kWrite;
  }
  if (status_.has_value()) {
    finished_ = true;
    return Act::kFinish;
  }
  return Act::kNothing;
}

uint64_t Outbox::written() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return written_;
}

bool Outbox::writing() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return writing_;
}

size_t Outbox::unsent() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return messages_.size() + (writing_ ? 1 : 0);
}

size_t Outbox::unsent_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_ + (writing_ ? current_.Length() : 0);
}

}  // namespace salient

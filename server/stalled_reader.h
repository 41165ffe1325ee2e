// A client that takes nothing of its reply for a while loses the call: what waits for it is memory that others need.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "server/outbox.h"

namespace salient {

class StalledReader {
 public:
  explicit StalledReader(absl::Duration patience) : patience_(patience) {}

  // Looks after a stream's `outbox` until Stop. `owner` is what they both belong to; it is held while an alarm is set.
  void Watch(std::shared_ptr<void> owner, const Outbox& outbox, grpc::CallbackServerContext& context) {
    std::lock_guard lock(mutex_);
    outbox_ = &outbox;
    context_ = &context;
    Set(std::move(owner), patience_);
  }

  // Of a call that is about to be finished with its only message: gRPC keeps that until the client has taken it. So that
  // slow but steady readers come to its end, they get the same time again for every kPatientBytes.
  void WatchReply(std::shared_ptr<void> owner, size_t bytes, grpc::CallbackServerContext& context) {
    std::lock_guard lock(mutex_);
    context_ = &context;
    Set(std::move(owner), patience_ * (1 + static_cast<double>(bytes) / kPatientBytes));
  }

  // The call is over, and its context gone when this returns.
  void Stop() {
    std::lock_guard lock(mutex_);
    context_ = nullptr;
    alarm_.Cancel();
  }

 private:
  static constexpr double kPatientBytes = 4 << 20;

  void Set(std::shared_ptr<void> owner, absl::Duration time) {
    // gRPC keeps the function after it has run. So it gives the owner away, or alarm and owner would keep each other.
    const auto due = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(time);
    alarm_.Set(due, [this, owner = std::move(owner)](bool rang) mutable {
      const std::shared_ptr<void> kept = std::move(owner);
      if (rang) Look(kept);
    });
  }

  void Look(const std::shared_ptr<void>& owner) {
    std::lock_guard lock(mutex_);
    if (context_ == nullptr) return;
    if (outbox_ == nullptr) return context_->TryCancel();
    if (outbox_->writing() && outbox_->written() == seen_) return context_->TryCancel();
    seen_ = outbox_->written();
    Set(owner, patience_);
  }

  const absl::Duration patience_;
  std::mutex mutex_;
  const Outbox* outbox_ = nullptr;  // null: a reply of one message
  grpc::CallbackServerContext* context_ = nullptr;
  grpc::Alarm alarm_;
  uint64_t seen_ = UINT64_MAX;  // of written() at the last look
};

}  // namespace salient

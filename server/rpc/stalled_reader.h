// Cancels a call if its client reads nothing of the reply for a while, because waiting messages take memory.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "server/rpc/outbox.h"

namespace salient {

class StalledReader {
 public:
  explicit StalledReader(absl::Duration patience) : patience_(patience) {}

  // Watches the `outbox` of a stream until Stop. `owner` owns both objects; it is kept alive while an alarm is set.
  void Watch(std::shared_ptr<void> owner, const Outbox& outbox, grpc::CallbackServerContext& context) {
    std::lock_guard lock(mutex_);
    outbox_ = &outbox;
    context_ = &context;
    Set(std::move(owner), patience_);
  }

  // Watches a call whose only message is about to be sent: gRPC keeps the message until the client has read it. The
  // time doubles for a message of kPatientBytes, so that a slow but steady reader gets all of it.
  void WatchReply(std::shared_ptr<void> owner, size_t bytes, grpc::CallbackServerContext& context) {
    std::lock_guard lock(mutex_);
    context_ = &context;
    Set(std::move(owner), patience_ * (1 + static_cast<double>(bytes) / kPatientBytes));
  }

  // Stops watching. The context may be destroyed after this returns.
  void Stop() {
    std::lock_guard lock(mutex_);
    context_ = nullptr;
    alarm_.Cancel();
  }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr double kPatientBytes = 4 << 20;

  void Set(std::shared_ptr<void> owner, absl::Duration time) {
    // gRPC keeps the function object after it has run. So the function moves `owner` out: otherwise owner and alarm
    // would keep each other alive.
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
    // The same message is on its way as at the last look. One that has just begun is not late.
    const uint64_t pending = outbox_->writing() ? outbox_->written() : kNone;
    if (pending != kNone && pending == pending_) return context_->TryCancel();
    pending_ = pending;
    Set(owner, patience_);
  }

  const absl::Duration patience_;
  std::mutex mutex_;
  const Outbox* outbox_ = nullptr;  // null: a reply of one message
  grpc::CallbackServerContext* context_ = nullptr;
  grpc::Alarm alarm_;
  uint64_t pending_ = kNone;  // how many had been written before the message that was on its way at the last look
};

}  // namespace salient

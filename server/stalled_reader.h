// Cancels a streaming call if its client reads nothing for a minute, because the waiting messages take memory.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "server/outbox.h"

namespace salient {

class StalledReader {
 public:
  // Watches `outbox` until Stop. `owner` owns both objects; it is kept alive while an alarm is set.
  void Watch(std::shared_ptr<void> owner, const Outbox& outbox, grpc::CallbackServerContext& context) {
    std::lock_guard lock(mutex_);
    outbox_ = &outbox;
    context_ = &context;
    Set(std::move(owner));
  }

  // Stops watching. The context may be destroyed after this returns.
  void Stop() {
    std::lock_guard lock(mutex_);
    context_ = nullptr;
    alarm_.Cancel();
  }

 private:
  static constexpr std::chrono::seconds kPatience{60};

  void Set(std::shared_ptr<void> owner) {
    // gRPC keeps the function object after it has run. So the function moves `owner` out: otherwise owner and alarm
    // would keep each other alive.
    alarm_.Set(std::chrono::system_clock::now() + kPatience, [this, owner = std::move(owner)](bool rang) mutable {
      const std::shared_ptr<void> kept = std::move(owner);
      if (rang) Look(kept);
    });
  }

  void Look(const std::shared_ptr<void>& owner) {
    std::lock_guard lock(mutex_);
    if (context_ == nullptr) return;
    if (outbox_->writing() && outbox_->written() == seen_) return context_->TryCancel();
    seen_ = outbox_->written();
    Set(owner);
  }

  std::mutex mutex_;
  const Outbox* outbox_ = nullptr;
  grpc::CallbackServerContext* context_ = nullptr;
  grpc::Alarm alarm_;
  uint64_t seen_ = UINT64_MAX;  // written() at the last check
};

}  // namespace salient

// A listener that remembers what it was told, for tests.

#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "gtest/gtest.h"

namespace salient::testing {

class RecordingListener : public TranslationListener {
 public:
  void OnSegment(const TranslatedSegment& segment) override {
    std::lock_guard lock(mutex_);
    segments_.push_back(segment);
  }
  void OnProgress(const TranslationProgress& progress) override {
    std::lock_guard lock(mutex_);
    progress_.push_back(progress);
  }
  void OnDone(absl::StatusOr<TranslationResult> result) override {
    std::lock_guard lock(mutex_);
    result_ = std::move(result);
    ++times_done_;
    done_.notify_all();
  }

  const absl::StatusOr<TranslationResult>& Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return times_done_ > 0; });
    return result_;
  }
  int times_done() {
    std::lock_guard lock(mutex_);
    return times_done_;
  }
  bool done() { return times_done() > 0; }
  std::vector<TranslatedSegment> segments() {
    std::lock_guard lock(mutex_);
    return segments_;
  }
  std::vector<TranslationProgress> progress() {
    std::lock_guard lock(mutex_);
    return progress_;
  }

 private:
  std::mutex mutex_;
  std::vector<TranslatedSegment> segments_;
  std::vector<TranslationProgress> progress_;
  absl::StatusOr<TranslationResult> result_ = absl::UnknownError("not done");
  int times_done_ = 0;
  std::condition_variable done_;
};

// Hands in all requests, the next without waiting for the last. One that the engine refuses fails the test, and its
// listener is told, so that nobody waits for it.
inline std::vector<std::shared_ptr<RecordingListener>> SubmitAll(Engine& engine,
                                                                 const std::vector<TranslationRequest>& requests) {
  std::vector<std::shared_ptr<RecordingListener>> listeners;
  for (const TranslationRequest& request : requests) {
    listeners.push_back(std::make_shared<RecordingListener>());
    const auto ticket = engine.Submit(request, listeners.back());
    EXPECT_TRUE(ticket.ok()) << ticket.status();
    if (!ticket.ok()) listeners.back()->OnDone(ticket.status());
  }
  return listeners;
}

// Keeps the step loop after its first step until it is let go, so that a test decides what happens meanwhile.
class HoldingObserver : public EngineObserver {
 public:
  void OnStep(int32_t, double) override {
    std::unique_lock lock(mutex_);
    held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return let_go_; });
  }
  void OnStall(double) override {}
  void OnPreempt() override {}
  void WaitUntilHeld() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
  }
  void HoldAgain() {
    std::lock_guard lock(mutex_);
    held_ = let_go_ = false;
  }
  void LetGo() {
    std::lock_guard lock(mutex_);
    let_go_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false, let_go_ = false;
};

}  // namespace salient::testing

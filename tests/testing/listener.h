// A listener that records its calls, for tests.

#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

// Cancels its own translation, in the engine's thread, when its first segment or tokens are there.
class CancellingListener : public RecordingListener {
 public:
  void CancelsAtFirstTokens(std::shared_ptr<TranslationTicket> ticket) {
    std::lock_guard lock(ticket_mutex_);
    ticket_ = std::move(ticket);
    if (has_tokens_) ticket_->Cancel();
  }
  void OnProgress(const TranslationProgress& progress) override {
    if (progress.target_tokens > 0) OnTokens();
  }
  void OnSegment(const TranslatedSegment&) override { OnTokens(); }

 private:
  void OnTokens() {
    std::lock_guard lock(ticket_mutex_);
    has_tokens_ = true;
    if (ticket_ != nullptr) ticket_->Cancel();
  }

  std::mutex ticket_mutex_;
  std::shared_ptr<TranslationTicket> ticket_;
  bool has_tokens_ = false;
};

// Submits all requests without waiting between them. If the engine refuses one, the test fails, and the listener of the
// request is called, so that the test does not wait for it.
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

// What must be the same whoever else is being translated: text, scores, counts, exits, keys. Numbers are exact.
inline std::string Fingerprint(const TranslationResult& result) {
  std::string print = result.text;
  for (const TranslatedSegment& segment : result.segments) {
    absl::StrAppendFormat(&print, "|%a %d %d", segment.score, segment.target_tokens, segment.length_limited);
  }
  for (const std::string& alternative : result.alternatives) absl::StrAppend(&print, "|", alternative);
  const auto& report = result.report;
  for (const int64_t count : report.exit_histogram) absl::StrAppend(&print, " ", count);
  for (const double value : {report.decoder_flops, report.decoder_flops_full_depth, report.attention_cost_ratio,
                             report.keys_selected_ratio[0], report.keys_selected_ratio[1],
                             report.keys_selected_ratio[2]}) {
    absl::StrAppendFormat(&print, " %a", value);
  }
  return print;
}

// Stops the step loop after each step until the test lets it continue, so that the test controls what happens between
// steps.
class HoldingObserver : public EngineObserver {
 public:
  void OnStep(int32_t, double) override {
    std::unique_lock lock(mutex_);
    const int step = ++steps_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return let_go_ || allowed_ >= step; });
  }
  void OnStall(double) override {}
  void OnPreempt() override {}
  void WaitUntilHeld() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return steps_ > allowed_; });
  }
  // Lets the step loop make one more step.
  void LetOneGo() {
    std::unique_lock lock(mutex_);
    allowed_ = steps_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return steps_ > allowed_; });
  }
  void HoldAgain() {
    std::lock_guard lock(mutex_);
    allowed_ = steps_;
    let_go_ = false;
  }
  void LetGo() {
    std::lock_guard lock(mutex_);
    let_go_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int steps_ = 0, allowed_ = 0;
  bool let_go_ = false;
};

}  // namespace salient::testing

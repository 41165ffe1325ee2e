// A fake engine that a test controls: documents wait until the test lets them continue. Its callbacks come from a
// thread of its own, as those of the real engine. It checks options like the real engine.
//
// A translation is the text in capitals, with one segment for each line. A prefix stands instead of as many bytes of
// the first one.

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"

namespace salient {

struct FakeEngineOptions {
  std::string name = "fake";
  std::string source_language = "en", target_language = "de";
  bool automatic = true;  // documents finish at once, without the test
  int capacity = 1000;    // documents in flight before the queue is full
  std::vector<OperatingPoint> points;
};

class FakeEngine : public Engine {
 public:
  // Number of documents that may wait when the engine is full.
  static constexpr int kMaxQueued = 1;

  explicit FakeEngine(const FakeEngineOptions& options);
  ~FakeEngine() override;

  absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(TranslationRequest request,
                                                            std::shared_ptr<TranslationListener> listener) override;
  const ModelInfo& info() const override { return info_; }
  EngineStatus status() const override;

  // Documents are numbered in the order of admission. These functions return when they have taken effect.
  void WaitForAdmitted(int count);
  void WaitForCancelled(int count);
  void Progress(int document, int done, int total, int tokens = 0);
  void Segment(int document, int index);
  void Finish(int document);
  void Fail(int document, const absl::Status& status);

  // Sets the result of status().
  void SetState(EngineState state, double turn_seconds = 0);

  int admitted() const;
  int refused() const;
  TranslationRequest request(int document) const;

 private:
  class Ticket;
  struct Document {
    TranslationRequest request;
    std::shared_ptr<TranslationListener> listener;
    bool done = false;
  };

  const TranslationRequest& RequestOf(int document) const;
  std::shared_ptr<TranslationListener> Listener(int document) const;
  void Run();
  void Post(std::function<void()> task);
  void PostAndWait(std::function<void()> task);
  void End(int document, absl::StatusOr<TranslationResult> result);  // runs in the engine's thread
  void Cancel(int document);

  const FakeEngineOptions options_;
  ModelInfo info_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Document> documents_;  // whose elements stay where they are
  EngineState state_ = EngineState::kHealthy;
  double turn_seconds_ = 0;
  int in_flight_ = 0, refused_ = 0, cancelled_ = 0;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

// The result of the fake engine for a request.
TranslationResult FakeTranslation(const TranslationRequest& request);
TranslatedSegment FakeSegment(const TranslationRequest& request, int index);

}  // namespace salient

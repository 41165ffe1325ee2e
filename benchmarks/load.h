// A constant number of documents in an engine: a new one for each that ends. For benchmarks.

#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "engine/engine.h"

namespace salient {

// Calls `done` once, with the translation or null.
class OnceDone : public TranslationListener {
 public:
  explicit OnceDone(std::function<void(const TranslationResult*)> done) : done_(std::move(done)) {}
  void OnDone(absl::StatusOr<TranslationResult> result) override {
    if (!result.ok() && !absl::IsCancelled(result.status())) std::cerr << result.status() << "\n";
    done_(result.ok() ? &*result : nullptr);
  }

 private:
  const std::function<void(const TranslationResult*)> done_;
};

// Runs from its construction to its destruction. Ends the process if the engine refuses a document.
class Load {
 public:
  using Make = std::function<TranslationRequest(int number)>;

  Load(Engine& engine, int documents, Make make) : engine_(engine), make_(std::move(make)) {
    for (int i = 0; i < documents; ++i) Next();
  }
  ~Load() {  // waits for the documents in flight
    stopping_ = true;
    while (in_flight_ > 0) absl::SleepFor(absl::Milliseconds(5));
  }

  int64_t documents() const { return documents_; }  // finished documents
  int64_t tokens() const { return tokens_; }        // their target tokens

 private:
  void Next() {
    if (stopping_) return;
    ++in_flight_;
    auto listener = std::make_shared<OnceDone>([this](const TranslationResult* result) {
      ++documents_;
      if (result != nullptr) tokens_ += result->report.target_tokens;
      Next();
      --in_flight_;
    });
    if (!engine_.Submit(make_(number_++), listener).ok()) std::abort();
  }

  Engine& engine_;
  const Make make_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> in_flight_ = 0, number_ = 0;
  std::atomic<int64_t> documents_ = 0, tokens_ = 0;
};

}  // namespace salient

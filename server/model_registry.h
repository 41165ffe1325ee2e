// The models that this server serves, an engine each, and which of them a request means.
//
// Filled at startup, read-only after: from then on all methods may be called from any thread.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"
#include "server/metrics.h"

namespace salient {

// Passes what an engine does on to the model's metrics, which are there only once the engine has told the model's name.
class StepObserver : public EngineObserver {
 public:
  void Attach(ModelMetrics* metrics) { metrics_.store(metrics, std::memory_order_release); }
  void OnStep(int32_t rows, double seconds) override {
    if (ModelMetrics* metrics = metrics_.load(std::memory_order_acquire)) metrics->ObserveStep(rows, seconds);
  }
  void OnStall(double seconds) override {
    if (ModelMetrics* metrics = metrics_.load(std::memory_order_acquire)) metrics->ObserveStall(seconds);
  }
  void OnPreempt() override {
    if (ModelMetrics* metrics = metrics_.load(std::memory_order_acquire)) metrics->CountPreempted();
  }

 private:
  std::atomic<ModelMetrics*> metrics_ = nullptr;
};

struct ServedModel {
  v1::Model description;
  EngineOptions options;
  ModelMetrics* metrics = nullptr;
  std::unique_ptr<StepObserver> observer;  // outlives the engine, which calls it
  std::unique_ptr<Engine> engine;
};

class ModelRegistry {
 public:
  explicit ModelRegistry(Metrics& metrics) : metrics_(metrics) {}

  // ALREADY_EXISTS if there is a model of this name. `observer` is the one that the engine was created with, or null.
  absl::Status Add(std::unique_ptr<Engine> engine, const EngineOptions& options,
                   std::unique_ptr<StepObserver> observer);

  const std::vector<std::unique_ptr<ServedModel>>& models() const { return models_; }

  // NOT_FOUND names the models there are.
  absl::StatusOr<ServedModel*> Find(const std::string& name) const;

  // The model that a request names, or the only one for its languages. NOT_FOUND names the models there are,
  // INVALID_ARGUMENT those between which the request leaves open.
  absl::StatusOr<ServedModel*> Choose(const v1::TranslateDocumentRequest& request) const;

  // Brings the gauges up to what the engines are doing now.
  void UpdateGauges() const;

 private:
  std::string Names() const;

  Metrics& metrics_;
  std::vector<std::unique_ptr<ServedModel>> models_;
};

}  // namespace salient

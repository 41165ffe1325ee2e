// The models of this server, with one engine for each, and the choice of a model for a request.
//
// Filled at startup and read-only afterwards: then all methods may be called from any thread.

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

// Forwards an engine's events to the model's metrics, which exist only after the engine has loaded the model.
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
  std::unique_ptr<StepObserver> observer;  // must outlive the engine, which calls it
  std::unique_ptr<Engine> engine;
};

class ModelRegistry {
 public:
  explicit ModelRegistry(Metrics& metrics) : metrics_(metrics) {}

  // ALREADY_EXISTS if there is a model of this name. `observer` is the one that the engine was created with, or null.
  absl::Status Add(std::unique_ptr<Engine> engine, const EngineOptions& options,
                   std::unique_ptr<StepObserver> observer);

  const std::vector<std::unique_ptr<ServedModel>>& models() const { return models_; }

  // NOT_FOUND names the available models.
  absl::StatusOr<ServedModel*> Find(const std::string& name) const;

  // The model that a request names, or the only one for its languages. NOT_FOUND names the available models;
  // INVALID_ARGUMENT, if several models match, names them.
  absl::StatusOr<ServedModel*> Choose(const v1::TranslateDocumentRequest& request) const;

  // Updates the gauges from the present state of the engines.
  void UpdateGauges() const;

 private:
  std::string Names() const;

  Metrics& metrics_;
  std::vector<std::unique_ptr<ServedModel>> models_;
};

}  // namespace salient

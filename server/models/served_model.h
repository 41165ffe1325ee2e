// A model in memory, with its engine.

#pragma once

#include <atomic>
#include <memory>

#include "documents/guard/calibration.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"
#include "server/models/pace.h"
#include "server/telemetry/metrics.h"

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

// Whoever translates with it holds it (std::shared_ptr). So a model that is unloaded or replaced is closed when its
// last document is done (server/models/model_closer.h).
struct ServedModel {
  v1::Model description;
  EngineOptions options;
  GuardCalibration calibration;
  ModelMetrics* metrics = nullptr;
  Pace pace;  // of its documents, which hold the model
  std::unique_ptr<StepObserver> observer;  // must outlive the engine, which calls it
  std::unique_ptr<Engine> engine;
};

}  // namespace salient

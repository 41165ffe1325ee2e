// The server's Prometheus metrics. Every name begins with salient_, but for the process_ metrics that all Prometheus
// clients have. Every time is in seconds, and every label has a closed set of values: models, outcomes, stages,
// modules. No label identifies a client.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/engine.h"
#include "prometheus/registry.h"
#include "salient/v1/translation.pb.h"
#include "server/admission/admission.h"
#include "server/retranslation/guarded_translation.h"

namespace salient {

class MetricFamilies;

// The stage in which a document missed its deadline.
enum class Stage { kQueue, kEncode, kDecode };

// The metrics of one model.
class ModelMetrics {
 public:
  // `decoder_layers` is the number of buckets of exit_layer.
  ModelMetrics(MetricFamilies& families, const std::string& model, int32_t decoder_layers);

  void CountFinished(absl::StatusCode outcome);
  void CountDeadlineMissed(Stage stage);
  void ObserveFirstSegment(double seconds);
  void ObserveResult(const CostReport& report, double end_to_end_seconds);
  // What the guard found in a document's segments, and did.
  void ObserveGuard(const std::vector<GuardVerdict>& verdicts);
  void ObserveStep(int32_t rows, double seconds);
  void ObserveStall(double seconds);
  void CountPreempted();
  void SetStatus(const EngineStatus& status);
  // It is not in memory; so many documents wait for it.
  void SetAbsent(int32_t waiting);
  void SetLimits(int32_t queued_documents, int32_t rows);

 private:
  MetricFamilies& families_;
  const std::string model_;
  const int32_t layers_;
  prometheus::Gauge &running_, &waiting_, &kv_usage_, &tokens_waiting_, &oldest_waiting_, &turn_seconds_;
  std::array<prometheus::Gauge*, 3> state_;  // by EngineState
  prometheus::Counter &source_tokens_, &target_tokens_, &preempted_;
  std::array<prometheus::Counter*, 3> deadline_missed_;  // by Stage
  std::array<prometheus::Counter*, kFaults> flagged_;    // by Fault, from 1
  prometheus::Counter &retried_, &replaced_;
  prometheus::Histogram &queue_, &encode_, &first_segment_, &output_token_, &end_to_end_;
  prometheus::Histogram &source_length_, &target_length_, &batch_rows_, &step_seconds_, &stall_seconds_;
  prometheus::Histogram &exit_layer_, &attention_cost_, &attention_executed_;
  std::array<prometheus::Histogram*, kModules> keys_selected_;  // by Module
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // The returned pointer is valid as long as this object. A model that is loaded again gets the one that it had, and if
  // it has more layers now, its deeper exits are counted beyond the last bucket.
  ModelMetrics* ForModel(const std::string& model, int32_t decoder_layers);
  // `load_failed`: the last try to load it failed. Its state may be SERVING all the same: what it was goes on.
  void SetState(const std::string& model, v1::Model::State state, bool load_failed);
  // A try to load a model; of one that was never loaded `model` is its folder.
  void ObserveLoad(const std::string& model, bool ok, double seconds);
  // The server has no model of this name any more: its state is no longer reported, its other gauges become 0.
  void Forget(const std::string& model);

  // Counts a request that was refused before a model was chosen.
  void CountRefused(absl::StatusCode outcome);
  // Counts a refused document, by reason and kind of client.
  void CountRefusal(Refusal refusal, Client::Kind kind);
  void SetDraining(bool draining);

  // In Prometheus' text format, version 0.0.4.
  std::string Text() const;

 private:
  prometheus::Registry registry_;
  std::unique_ptr<MetricFamilies> families_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ModelMetrics>> models_;
};

}  // namespace salient

#include "server/telemetry/metrics.h"

#include <sys/times.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/version.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/text_serializer.h"

namespace salient {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;
using CounterFamily = prometheus::Family<prometheus::Counter>;
using GaugeFamily = prometheus::Family<prometheus::Gauge>;
using HistogramFamily = prometheus::Family<prometheus::Histogram>;

// 1-2-5 from `least` up to `greatest`.
Buckets OneTwoFive(double least, double greatest) {
  Buckets buckets;
  for (double decade = least; decade <= greatest; decade *= 10) {
    for (const double step : {1, 2, 5}) {
      if (decade * step <= greatest * 1.0001) buckets.push_back(decade * step);
    }
  }
  return buckets;
}

// When the process began, in Unix time; 0 if that is not known.
double ProcessStart() {
  const auto now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  double seconds_since_boot = 0;
  std::string stat;
  if (!(std::ifstream("/proc/uptime") >> seconds_since_boot)) return 0;
  std::getline(std::ifstream("/proc/self/stat"), stat);
  // The name, in parentheses, may contain spaces. The 20th field after it: ticks from the boot to the start.
  std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 2)));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  double ticks = 0;
  if (!absl::SimpleAtod(field, &ticks)) return 0;
  return now - seconds_since_boot + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Buckets Seconds() { return OneTwoFive(0.001, 500); }
Buckets Lengths() { return OneTwoFive(1, 1e6); }
Buckets RowCounts() { return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}; }
Buckets Ratios() { return {0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1, 1.2, 1.5, 2}; }
Buckets Layers(int32_t layers) {
  Buckets buckets;
  for (int32_t layer = 1; layer <= layers; ++layer) buckets.push_back(layer);
  return buckets;
}

constexpr std::pair<v1::Model::State, const char*> kModelStates[] = {{v1::Model::SERVING, "serving"},
                                                                     {v1::Model::LOADING, "loading"},
                                                                     {v1::Model::IDLE, "idle"},
                                                                     {v1::Model::FAILED, "failed"}};

// One of a closed set: ok, cancelled, deadline_exceeded, ...
std::string OutcomeName(absl::StatusCode code) { return absl::AsciiStrToLower(absl::StatusCodeToString(code)); }

// The outcomes that rules read beside `ok`. They are 0 from the start: of a counter that appears with its first value,
// Prometheus does not see the increase, and what fails at once, just before a server ends, may be all that fails.
constexpr absl::StatusCode kFailures[] = {absl::StatusCode::kUnknown,           absl::StatusCode::kDeadlineExceeded,
                                          absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal,
                                          absl::StatusCode::kUnavailable,       absl::StatusCode::kDataLoss};

const char* StageName(Stage stage) {
  constexpr const char* kNames[] = {"queue", "encode", "decode"};
  return kNames[static_cast<int>(stage)];
}

}  // namespace

class MetricFamilies {
 public:
  explicit MetricFamilies(prometheus::Registry& registry)
      : requests_running(Gauge(registry, "requests_running", "Documents being encoded or decoded")),
        requests_waiting(Gauge(registry, "requests_waiting", "Documents in the queue; scale on this")),
        kv_cache_usage_ratio(Gauge(registry, "kv_cache_usage_ratio", "Key and value memory in use, 0 to 1")),
        tokens_waiting(Gauge(registry, "tokens_waiting", "Source tokens that are not yet encoded")),
        oldest_waiting_seconds(Gauge(registry, "oldest_waiting_seconds", "Age of the oldest document in the queue")),
        turn_seconds(Gauge(registry, "turn_seconds", "Since the step loop last turned, while it has work")),
        engine_state(Gauge(registry, "engine_state", "1 for the state that the engine is in")),
        limits(Gauge(registry, "limit", "What the server was started with: queued_documents, rows")),
        model_state(Gauge(registry, "model_state", "1 for the state that the model is in")),
        model_load_failed(Gauge(registry, "model_load_failed",
                                "1 if the model could not be loaded when its files were last looked at; "
                                "its state says whether it serves as it was")),
        draining(Gauge(registry, "draining", "1 while the server takes no more documents").Add({})),
        process_memory(Process(registry, "process_resident_memory_bytes", "Memory in use")),
        process_descriptors(Process(registry, "process_open_fds", "Open file descriptors")),
        process_cpu(prometheus::BuildCounter()
                        .Name("process_cpu_seconds_total")
                        .Help("Processor time")
                        .Register(registry)
                        .Add({})),
        process_start(Process(registry, "process_start_time_seconds", "When the process began, in Unix time")),
        refusals_total(Counter(registry, "refusals_total", "Documents refused, by reason and kind of client")),
        requests_total(Counter(registry, "requests_total", "Documents by how they ended, a gRPC code in lower case")),
        source_tokens_total(Counter(registry, "source_tokens_total", "Tokens of the documents translated")),
        target_tokens_total(Counter(registry, "target_tokens_total", "Tokens of their translations")),
        deadline_missed_total(
            Counter(registry, "deadline_missed_total", "Documents whose deadline passed, by where they were then")),
        preemptions_total(
            Counter(registry, "preemptions_total",
                    "Chunks that gave up their memory to older ones and began anew; more kv-memory helps")),
        model_loads_total(Counter(registry, "model_loads_total", "Tries to load a model, by whether it was loaded")),
        model_load_seconds(Gauge(registry, "model_load_seconds", "What the last try to load the model took")),
        faults_total(Counter(registry, "faults_total", "Segments whose first translation has the fault")),
        segments_retried_total(
            Counter(registry, "segments_retried_total", "Segments that the guard had translated again")),
        segments_replaced_total(
            Counter(registry, "segments_replaced_total", "Segments whose second translation was the better one")),
        queue_seconds(Histogram(registry, "queue_seconds", "From arrival to the first step")),
        encode_seconds(Histogram(registry, "encode_seconds", "Encoding, a document")),
        first_segment_seconds(Histogram(registry, "first_segment_seconds", "From arrival to the first segment")),
        time_per_output_token_seconds(
            Histogram(registry, "time_per_output_token_seconds", "Decoding, a target token of a document")),
        end_to_end_seconds(Histogram(registry, "end_to_end_seconds", "From arrival to the reply")),
        source_length_tokens(Histogram(registry, "source_length_tokens", "Length of documents")),
        target_length_tokens(Histogram(registry, "target_length_tokens", "Length of translations")),
        batch_rows(Histogram(registry, "batch_rows", "Rows that shared a step")),
        step_seconds(Histogram(registry, "step_seconds", "One step of the engine")),
        stall_seconds(Histogram(registry, "stall_seconds", "What a step waited for others' encoding")),
        keys_selected_ratio(
            Histogram(registry, "keys_selected_ratio", "Keys kept over keys visible, a document and a module")),
        exit_layer(Histogram(registry, "exit_layer", "Decoder layer after which a token was predicted")),
        attention_cost_ratio(
            Histogram(registry, "attention_cost_ratio", "Attention multiply-adds over dense attention's, a document")),
        attention_executed_ratio(Histogram(registry, "attention_executed_ratio",
                                           "The same with those for padding and masked keys, a document")) {
    for (const absl::StatusCode code : kFailures) requests_total.Add({{"outcome", OutcomeName(code)}});
    for (const Client::Kind kind : {Client::Kind::kKey, Client::Kind::kCertificate, Client::Kind::kAddress}) {
      for (int reason = 0; reason <= static_cast<int>(Refusal::kOther); ++reason) {
        OfRefusals(static_cast<Refusal>(reason), kind);
      }
    }
  }

  prometheus::Counter& OfRefusals(Refusal refusal, Client::Kind kind) {
    return refusals_total.Add({{"reason", RefusalName(refusal)}, {"client", Client{.kind = kind}.KindName()}});
  }

  // /proc, as it is now.
  void ReadProcess();

  GaugeFamily &requests_running, &requests_waiting, &kv_cache_usage_ratio, &tokens_waiting, &oldest_waiting_seconds;
  GaugeFamily &turn_seconds, &engine_state, &limits, &model_state, &model_load_failed;
  prometheus::Gauge &draining, &process_memory, &process_descriptors;
  prometheus::Counter& process_cpu;
  prometheus::Gauge& process_start;
  CounterFamily& refusals_total;
  CounterFamily &requests_total, &source_tokens_total, &target_tokens_total, &deadline_missed_total, &preemptions_total;
  CounterFamily& model_loads_total;
  GaugeFamily& model_load_seconds;
  CounterFamily &faults_total, &segments_retried_total, &segments_replaced_total;
  HistogramFamily &queue_seconds, &encode_seconds, &first_segment_seconds, &time_per_output_token_seconds;
  HistogramFamily &end_to_end_seconds, &source_length_tokens, &target_length_tokens, &batch_rows, &step_seconds,
      &stall_seconds;
  HistogramFamily &keys_selected_ratio, &exit_layer, &attention_cost_ratio, &attention_executed_ratio;

 private:
  std::mutex process_cpu_mutex_;  // a counter is not set

  static prometheus::Gauge& Process(prometheus::Registry& registry, const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  static GaugeFamily& Gauge(prometheus::Registry& registry, const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name("salient_" + name).Help(help).Register(registry);
  }
  static CounterFamily& Counter(prometheus::Registry& registry, const std::string& name, const std::string& help) {
    return prometheus::BuildCounter().Name("salient_" + name).Help(help).Register(registry);
  }
  static HistogramFamily& Histogram(prometheus::Registry& registry, const std::string& name, const std::string& help) {
    return prometheus::BuildHistogram().Name("salient_" + name).Help(help).Register(registry);
  }
};

ModelMetrics::ModelMetrics(MetricFamilies& families, const std::string& model, int32_t decoder_layers)
    : families_(families),
      model_(model),
      layers_(decoder_layers),
      running_(families.requests_running.Add({{"model", model}})),
      waiting_(families.requests_waiting.Add({{"model", model}})),
      kv_usage_(families.kv_cache_usage_ratio.Add({{"model", model}})),
      tokens_waiting_(families.tokens_waiting.Add({{"model", model}})),
      oldest_waiting_(families.oldest_waiting_seconds.Add({{"model", model}})),
      turn_seconds_(families.turn_seconds.Add({{"model", model}})),
      source_tokens_(families.source_tokens_total.Add({{"model", model}})),
      target_tokens_(families.target_tokens_total.Add({{"model", model}})),
      preempted_(families.preemptions_total.Add({{"model", model}})),
      retried_(families.segments_retried_total.Add({{"model", model}})),
      replaced_(families.segments_replaced_total.Add({{"model", model}})),
      queue_(families.queue_seconds.Add({{"model", model}}, Seconds())),
      encode_(families.encode_seconds.Add({{"model", model}}, Seconds())),
      first_segment_(families.first_segment_seconds.Add({{"model", model}}, Seconds())),
      output_token_(families.time_per_output_token_seconds.Add({{"model", model}}, OneTwoFive(1e-5, 10))),
      end_to_end_(families.end_to_end_seconds.Add({{"model", model}}, Seconds())),
      source_length_(families.source_length_tokens.Add({{"model", model}}, Lengths())),
      target_length_(families.target_length_tokens.Add({{"model", model}}, Lengths())),
      batch_rows_(families.batch_rows.Add({{"model", model}}, RowCounts())),
      step_seconds_(families.step_seconds.Add({{"model", model}}, OneTwoFive(1e-4, 10))),
      stall_seconds_(families.stall_seconds.Add({{"model", model}}, OneTwoFive(1e-4, 10))),
      exit_layer_(families.exit_layer.Add({{"model", model}}, Layers(decoder_layers))),
      attention_cost_(families.attention_cost_ratio.Add({{"model", model}}, Ratios())),
      attention_executed_(families.attention_executed_ratio.Add({{"model", model}}, Ratios())) {
  families.requests_total.Add({{"model", model}, {"outcome", OutcomeName(absl::StatusCode::kOk)}});
  for (const absl::StatusCode code : kFailures) {
    families.requests_total.Add({{"model", model}, {"outcome", OutcomeName(code)}});
  }
  constexpr const char* kStates[] = {"healthy", "recovering", "dead"};
  for (size_t state = 0; state < state_.size(); ++state) {
    state_[state] = &families.engine_state.Add({{"model", model}, {"state", kStates[state]}});
  }
  for (const Stage stage : {Stage::kQueue, Stage::kEncode, Stage::kDecode}) {
    deadline_missed_[static_cast<int>(stage)] =
        &families.deadline_missed_total.Add({{"model", model}, {"stage", StageName(stage)}});
  }
  for (int fault = 0; fault < kFaults; ++fault) {
    flagged_[fault] =
        &families.faults_total.Add({{"model", model}, {"fault", FaultName(static_cast<Fault>(fault + 1))}});
  }
  for (const Module module : {Module::kEncoder, Module::kDecoder, Module::kCross}) {
    constexpr const char* kNames[] = {"encoder", "decoder", "cross"};
    const int index = static_cast<int>(module);
    keys_selected_[index] = &families.keys_selected_ratio.Add({{"model", model}, {"module", kNames[index]}}, Ratios());
  }
}

void ModelMetrics::SetLimits(int32_t queued_documents, int32_t rows) {
  families_.limits.Add({{"model", model_}, {"of", "queued_documents"}}).Set(queued_documents);
  families_.limits.Add({{"model", model_}, {"of", "rows"}}).Set(rows);
}

void ModelMetrics::CountFinished(absl::StatusCode outcome) {
  families_.requests_total.Add({{"model", model_}, {"outcome", OutcomeName(outcome)}}).Increment();
}

void ModelMetrics::CountDeadlineMissed(Stage stage) { deadline_missed_[static_cast<int>(stage)]->Increment(); }

void ModelMetrics::ObserveFirstSegment(double seconds) { first_segment_.Observe(seconds); }

void ModelMetrics::ObserveResult(const CostReport& report, double end_to_end_seconds) {
  source_tokens_.Increment(report.source_tokens);
  target_tokens_.Increment(report.target_tokens);
  queue_.Observe(report.queue_seconds);
  encode_.Observe(report.encode_seconds);
  end_to_end_.Observe(end_to_end_seconds);
  source_length_.Observe(report.source_tokens);
  target_length_.Observe(report.target_tokens);
  attention_cost_.Observe(report.attention_cost_ratio);
  attention_executed_.Observe(report.attention_executed_ratio);
  for (int module = 0; module < kModules; ++module) {
    keys_selected_[module]->Observe(report.keys_selected_ratio[module]);
  }
  if (report.target_tokens > 0) output_token_.Observe(report.decode_seconds / report.target_tokens);

  std::vector<double> tokens_by_layer(layers_ + 1, 0.0);  // the last bucket is +Inf
  double sum = 0;
  for (size_t i = 0; i < report.exit_histogram.size(); ++i) {
    const auto tokens = static_cast<double>(report.exit_histogram[i]);
    tokens_by_layer[std::min(i, static_cast<size_t>(layers_))] += tokens;
    sum += tokens * static_cast<double>(i + 1);
  }
  exit_layer_.ObserveMultiple(tokens_by_layer, sum);
}

void ModelMetrics::ObserveGuard(const std::vector<GuardVerdict>& verdicts) {
  for (const GuardVerdict& verdict : verdicts) {
    const bool again = verdict.retry == RetryOutcome::kReplaced || verdict.retry == RetryOutcome::kKept;
    for (const Fault fault : again ? verdict.first_faults : verdict.check.faults) {
      flagged_[static_cast<int>(fault) - 1]->Increment();
    }
    if (again || verdict.retry == RetryOutcome::kFailed) retried_.Increment();
    if (verdict.retry == RetryOutcome::kReplaced) replaced_.Increment();
  }
}

void ModelMetrics::ObserveStep(int32_t rows, double seconds) {
  batch_rows_.Observe(rows);
  step_seconds_.Observe(seconds);
}

void ModelMetrics::ObserveStall(double seconds) { stall_seconds_.Observe(seconds); }

void ModelMetrics::CountPreempted() { preempted_.Increment(); }

void ModelMetrics::SetStatus(const EngineStatus& status) {
  running_.Set(status.documents_running);
  tokens_waiting_.Set(static_cast<double>(status.tokens_waiting));
  oldest_waiting_.Set(status.oldest_waiting_seconds);
  turn_seconds_.Set(status.turn_seconds);
  for (size_t state = 0; state < state_.size(); ++state) {
    state_[state]->Set(state == static_cast<size_t>(status.state) ? 1 : 0);
  }
  waiting_.Set(status.documents_waiting);
  const auto total = static_cast<double>(status.kv_bytes_total);
  kv_usage_.Set(total > 0 ? static_cast<double>(status.kv_bytes_used) / total : 0);
}

void ModelMetrics::SetAbsent(int32_t waiting) {
  SetStatus({});
  for (prometheus::Gauge* const state : state_) state->Set(0);
  waiting_.Set(waiting);
}

Metrics::Metrics() : families_(std::make_unique<MetricFamilies>(registry_)) {
  prometheus::BuildGauge()
      .Name("salient_build_info")
      .Help("What the server was built from; always 1")
      .Register(registry_)
      .Add({{"version", Version()}, {"revision", Revision()}})
      .Set(1);
}
Metrics::~Metrics() = default;

ModelMetrics* Metrics::ForModel(const std::string& model, int32_t decoder_layers) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<ModelMetrics>& metrics = models_[model];
  if (metrics == nullptr) metrics = std::make_unique<ModelMetrics>(*families_, model, decoder_layers);
  return metrics.get();
}

void Metrics::SetState(const std::string& model, v1::Model::State state, bool load_failed) {
  std::lock_guard lock(mutex_);  // else Forget may remove what is set here
  for (const auto& [value, name] : kModelStates) {
    families_->model_state.Add({{"model", model}, {"state", name}}).Set(state == value ? 1 : 0);
  }
  families_->model_load_failed.Add({{"model", model}}).Set(load_failed ? 1 : 0);
}

void Metrics::ObserveLoad(const std::string& model, bool ok, double seconds) {
  families_->model_loads_total.Add({{"model", model}, {"outcome", ok ? "ok" : "failed"}}).Increment();
  families_->model_load_seconds.Add({{"model", model}}).Set(seconds);
}

void Metrics::Forget(const std::string& model) {
  std::lock_guard lock(mutex_);
  GaugeFamily& states = families_->model_state;
  for (const auto& [value, name] : kModelStates) states.Remove(&states.Add({{"model", model}, {"state", name}}));
  families_->model_load_failed.Remove(&families_->model_load_failed.Add({{"model", model}}));
  if (const auto found = models_.find(model); found != models_.end()) found->second->SetAbsent(0);
}

void Metrics::CountRefused(absl::StatusCode outcome) {
  families_->requests_total.Add({{"outcome", OutcomeName(outcome)}}).Increment();
}

void Metrics::CountRefusal(Refusal refusal, Client::Kind kind) { families_->OfRefusals(refusal, kind).Increment(); }

void Metrics::SetDraining(bool draining) { families_->draining.Set(draining ? 1 : 0); }

void MetricFamilies::ReadProcess() {
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  int64_t pages = 0, resident = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident) {
    process_memory.Set(static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  }
  std::error_code error;
  int64_t open = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error)) {
    ++open;
  }
  process_descriptors.Set(static_cast<double>(open));
  tms times = {};
  ::times(&times);
  {
    std::lock_guard lock(process_cpu_mutex_);
    process_cpu.Increment(static_cast<double>(times.tms_utime + times.tms_stime) / ticks - process_cpu.Value());
  }
  static const double start = ProcessStart();
  process_start.Set(start);
}

std::string Metrics::Text() const {
  families_->ReadProcess();
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace salient

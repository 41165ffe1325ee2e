// Times whole translations by the engine, for benchmarks/peers and benchmarks/scale, which start this program.
//
// Reads one JSON object per line from standard input, and writes one reply per line to standard output. The first line
// configures the engine. Every other line is a run: documents that arrive at given times. The reply says when each was
// done.
//
//   {"model": DIR, "threads": 2, "compute": "int8", "max_rows": 64, "encode_tokens": 2048, "kv_bytes": 4294967296}
//     -> {"device": "cpu int8 (amx)", "rss": bytes, "load_seconds": s}
//   {"documents": [{"text": "...", "length": 512, "at": 0.0}, ...],
//    "selection": {"policy": "ratio", "value": 0.05}, "depth": {"policy": "geometric", "threshold": 0.5},
//    "beam": 1, "shortlist": false, "timeline": false, "trace": false, "translations": false,
//    "segmentation": "lines"}
//     -> {"seconds": from the first arrival to the last end, "cpu_seconds": of all threads,
//         "documents": [{"seconds": ..., ...}], "peak_rss": bytes}
//
// A document with a `length` gets exactly that many target tokens, including the end. For this the model must never end
// by itself (its output biases prevent it), so that the engine's limit on a segment's length ends it. Such a document
// is one line of text. A document without a `length` is real text for a real model, and ends when the model ends it.
// "translations" adds segments ([text, score]), "timeline" [tokens, seconds] pairs, one every 32 tokens, "trace" tokens
// and their log probabilities. `peak_rss` is the peak of the run, `rss` the memory of the loaded model.

#include <time.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/decode/demand.h"
#include "engine/decode/sequence.h"
#include "engine/engine.h"
#include "nlohmann/json.hpp"

namespace salient {
namespace {

using Json = nlohmann::json;

// A value of /proc/self/status, such as VmHWM, in bytes.
int64_t ProcessMemory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

// Processor time of all threads of this process, which measures a run's cost on a machine with other users.
double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Resets VmHWM to the memory that is resident now.
void ForgetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Records when a document is done, and its progress until then.
class Stopwatch : public TranslationListener {
 public:
  void OnProgress(const TranslationProgress& progress) override {
    const absl::Time now = absl::Now();
    std::lock_guard lock(mutex_);
    timeline_.emplace_back(progress.target_tokens, now);
  }
  void OnDone(absl::StatusOr<TranslationResult> result) override {
    const absl::Time now = absl::Now();
    std::lock_guard lock(mutex_);
    result_ = std::move(result);
    ended_ = now;
    done_.notify_all();
  }

  const absl::StatusOr<TranslationResult>& Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return result_.has_value(); });
    return *result_;
  }
  // Call it after Wait.
  absl::Time ended() const { return ended_; }
  const std::vector<std::pair<int32_t, absl::Time>>& timeline() const { return timeline_; }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<absl::StatusOr<TranslationResult>> result_;
  absl::Time ended_;
  std::vector<std::pair<int32_t, absl::Time>> timeline_;
};

template <typename Value>
absl::StatusOr<Value> Lookup(const std::map<std::string, Value>& values, const std::string& field,
                             const std::string& name) {
  const auto found = values.find(name);
  if (found != values.end()) return found->second;
  std::string known;
  for (const auto& [each, value] : values) absl::StrAppend(&known, known.empty() ? "" : ", ", each);
  return absl::InvalidArgumentError(absl::StrCat(field, " is \"", name, "\"; it must be one of ", known));
}

absl::StatusOr<EngineOptions> EngineOptionsOf(const Json& line) {
  const absl::StatusOr<ComputeType> compute = Lookup<ComputeType>({{"auto", ComputeType::kAuto},
                                                                   {"f32", ComputeType::kF32},
                                                                   {"bf16", ComputeType::kBF16},
                                                                   {"int8", ComputeType::kInt8}},
                                                                  "compute", line.value("compute", "auto"));
  if (!compute.ok()) return compute.status();
  const EngineOptions defaults;
  EngineOptions options;
  options.model_folder = line.at("model").get<std::string>();
  options.device = line.value("device", "cpu");
  options.compute = *compute;
  if (line.contains("kv_type")) {
    const absl::StatusOr<ElementType> type =
        Lookup<ElementType>({{"f32", ElementType::kF32}, {"bf16", ElementType::kBF16}, {"int8", ElementType::kInt8}},
                            "kv_type", line["kv_type"].get<std::string>());
    if (!type.ok()) return type.status();
    options.kv_type = *type;
  }
  options.threads = line.value("threads", defaults.threads);
  options.max_rows = line.value("max_rows", defaults.max_rows);
  options.encode_tokens = line.value("encode_tokens", defaults.encode_tokens);
  options.kv_bytes = line.value("kv_bytes", int64_t{4} << 30);
  options.max_queued_documents = 1 << 20;
  return options;
}

template <typename Info, size_t kCount>
absl::StatusOr<decltype(Info::policy)> PolicyNamed(const std::array<Info, kCount>& table, const char* field,
                                                   const std::string& name) {
  for (const Info& info : table) {
    if (name == info.name) return info.policy;
  }
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", name, ", which is no policy"));
}

absl::StatusOr<TranslationOptions> TranslationOptionsOf(const Json& line) {
  const Json selection = line.value("selection", Json::object());
  const Json depth = line.value("depth", Json::object());
  const absl::StatusOr<SelectionPolicy> policy =
      PolicyNamed(kSelectionPolicies, "selection.policy", selection.value("policy", "dense"));
  if (!policy.ok()) return policy.status();
  const absl::StatusOr<DepthPolicy> exit = PolicyNamed(kDepthPolicies, "depth.policy", depth.value("policy", "full"));
  if (!exit.ok()) return exit.status();
  TranslationOptions options;
  options.selection.policy = *policy;
  if (selection.contains("value")) options.selection.value = selection["value"].get<double>();
  options.depth.policy = *exit;
  if (depth.contains("layer")) options.depth.fixed_exit = depth["layer"].get<int32_t>();
  if (depth.contains("draft_exit")) options.depth.draft_exit = depth["draft_exit"].get<int32_t>();
  if (depth.contains("draft_tokens")) options.depth.draft_tokens = depth["draft_tokens"].get<int32_t>();
  if (depth.contains("threshold")) options.depth.thresholds = {depth["threshold"].get<double>()};
  options.search.shortlist = line.value("shortlist", false);
  if (line.contains("beam")) options.search.beam = line["beam"].get<int32_t>();
  options.trace = line.value("trace", false);
  return options;
}

int32_t Words(const std::string& text) {
  return static_cast<int32_t>(std::count(text.begin(), text.end(), ' ')) + 1;  // one token each
}

// The ratio with which the limit of a segment of `words` tokens (LengthLimit) is `length` tokens, including its end.
absl::StatusOr<double> RatioFor(int32_t length, int32_t words) {
  constexpr int32_t kFixed = kSegmentSlack + 1;  // what the limit adds, and the end
  if (length > kFixed) return (length - kFixed + 0.5) / words;
  return absl::InvalidArgumentError(absl::StrCat("length is ", length, "; it must be at least ", kFixed + 1));
}

absl::Status CheckForced(const Json& document, const CostReport& report) {
  const int32_t wanted = document.at("length").get<int32_t>();
  const int32_t words = Words(document.at("text").get_ref<const std::string&>());
  if (report.source_tokens != words || report.chunks != 1 || report.target_tokens != wanted) {
    return absl::InternalError(absl::StrCat("a document of ", words, " words got ", report.source_tokens,
                                            " source tokens in ", report.chunks, " chunks and ", report.target_tokens,
                                            " target tokens where ", wanted,
                                            " were asked for: the model must come from harness.models"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> Describe(const Json& document, Stopwatch& stopwatch, absl::Time start, const Json& line) {
  const absl::StatusOr<TranslationResult>& result = stopwatch.Wait();
  if (!result.ok()) return result.status();
  const CostReport& report = result->report;
  const absl::Status forced = document.contains("length") ? CheckForced(document, report) : absl::OkStatus();
  if (!forced.ok()) return forced;
  const absl::Time arrived = start + absl::Seconds(document.value("at", 0.0));
  Json told = {{"seconds", absl::ToDoubleSeconds(stopwatch.ended() - arrived)},
               {"encode_seconds", report.encode_seconds},
               {"decode_seconds", report.decode_seconds},
               {"source_tokens", report.source_tokens},
               {"target_tokens", report.target_tokens},
               {"mean_exit", report.mean_exit},
               {"draft_acceptance", report.draft_acceptance},
               {"keys_selected_ratio", report.keys_selected_ratio},
               {"attention_cost_ratio", report.attention_cost_ratio},
               {"peak_kv_bytes", report.peak_kv_bytes},
               {"mean_documents_per_step", report.mean_documents_per_step}};
  if (line.value("timeline", false)) {
    for (const auto& [tokens, at] : stopwatch.timeline()) {
      told["timeline"].push_back({tokens, absl::ToDoubleSeconds(at - start)});
    }
  }
  if (line.value("translations", false)) {
    for (const TranslatedSegment& segment : result->segments) {
      told["translations"].push_back({segment.text, segment.score});
    }
  }
  if (line.value("trace", false)) {
    for (const TranslatedSegment& segment : result->segments) {
      for (const TokenTrace& token : segment.trace) {
        told["pieces"].push_back(token.piece);
        told["log_probabilities"].push_back(std::log(token.probability));
      }
    }
  }
  return told;
}

absl::StatusOr<Json> Run(Engine& engine, const Json& line) {
  const absl::StatusOr<TranslationOptions> options = TranslationOptionsOf(line);
  if (!options.ok()) return options.status();
  const Json& documents = line.at("documents");
  const Segmentation segmentation =
      line.value("segmentation", "lines") == "sentences" ? Segmentation::kSentences : Segmentation::kLines;
  std::vector<std::shared_ptr<Stopwatch>> stopwatches;
  ForgetPeakMemory();
  const double cpu_before = CpuSeconds();
  const absl::Time start = absl::Now();
  for (const Json& document : documents) {
    const std::string& text = document.at("text").get_ref<const std::string&>();
    TranslationRequest request{.text = text, .segmentation = segmentation, .options = *options};
    if (document.contains("length")) {
      const absl::StatusOr<double> ratio = RatioFor(document["length"].get<int32_t>(), Words(text));
      if (!ratio.ok()) return ratio.status();
      request.options.search.max_length_ratio = *ratio;
    }
    absl::SleepFor(start + absl::Seconds(document.value("at", 0.0)) - absl::Now());
    stopwatches.push_back(std::make_shared<Stopwatch>());
    const auto ticket = engine.Submit(std::move(request), stopwatches.back());
    if (!ticket.ok()) return ticket.status();
  }
  Json answer = {{"documents", Json::array()}};
  absl::Time end = start;
  for (size_t i = 0; i < documents.size(); ++i) {
    absl::StatusOr<Json> told = Describe(documents[i], *stopwatches[i], start, line);
    if (!told.ok()) return told.status();
    end = std::max(end, stopwatches[i]->ended());
    answer["documents"].push_back(*std::move(told));
  }
  answer["cpu_seconds"] = CpuSeconds() - cpu_before;
  answer["seconds"] = absl::ToDoubleSeconds(end - start);
  answer["peak_rss"] = ProcessMemory("VmHWM");
  return answer;
}

absl::StatusOr<Json> SetUp(const Json& line, std::unique_ptr<Engine>& engine) {
  const absl::StatusOr<EngineOptions> options = EngineOptionsOf(line);
  if (!options.ok()) return options.status();
  const absl::Time start = absl::Now();
  absl::StatusOr<std::unique_ptr<Engine>> created = Engine::Create(*options);
  if (!created.ok()) return created.status();
  engine = *std::move(created);
  return Json{{"device", engine->info().device},
              {"parameters", engine->info().parameters},
              {"rss", ProcessMemory("VmRSS")},
              {"load_seconds", absl::ToDoubleSeconds(absl::Now() - start)}};
}

// The reply to one line; {"error": why} if the request is invalid.
Json Answer(const std::string& text, std::unique_ptr<Engine>& engine) {
  try {
    const Json line = Json::parse(text);
    absl::StatusOr<Json> answer = engine == nullptr ? SetUp(line, engine) : Run(*engine, line);
    if (answer.ok()) return *std::move(answer);
    return {{"error", answer.status().ToString()}};
  } catch (const Json::exception& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace
}  // namespace salient

int main() {
  std::unique_ptr<salient::Engine> engine;
  for (std::string line; std::getline(std::cin, line);) {
    const salient::Json answer = salient::Answer(line, engine);
    std::cout << answer.dump() << std::endl;
    if (engine == nullptr) return 1;
  }
  return 0;
}

// The engine: documents in, translations and their cost out, many at once, batched step by step.
//
// One Engine serves one model. Submit makes the cheap checks and puts the document into a bounded queue; workers cut it
// into segments, tokens and chunks, and put its reply together; a thread runs the step loop and does nothing else.
// Documents join between steps and leave as they finish; no document waits for another's end, and none changes
// another's result. Clients share the engine by weight (engine/schedule/scheduler.h).
//
//   auto engine = Engine::Create({.model_folder = "models/en-de"});
//   auto ticket = (*engine)->Submit(request, listener);   // listener hears of segments, then of the end
//   (*ticket)->Cancel();                                  // stops within one step
//
// Thread safety: all methods may be called from any thread. A listener's methods are called from the engine's workers,
// one at a time; they should not block. Submit and Cancel may be called from within them.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/api/options.h"
#include "engine/api/request.h"
#include "engine/api/result.h"
#include "engine/core/element_type.h"
#include "engine/model/config.h"
#include "engine/options/operating_points.h"

namespace salient {

struct EngineOptions {
  std::string model_folder;
  std::string device = "auto";  // auto, cpu, cuda, reference
  ComputeType compute = ComputeType::kAuto;
  int threads = 0;               // CPU threads; 0: one a core
  int32_t max_rows = 64;         // hypotheses decoded in one step
  int32_t encode_tokens = 2048;  // source tokens encoded together; one chunk at least
  // How long the translations under way wait, between two of their steps, for others to be encoded. An encoding that
  // takes longer goes on after the step; a slice is exceeded by a few rows at most. A GPU encodes beside the steps.
  absl::Duration encode_slice = absl::Milliseconds(10);
  // Memory for keys and values of all documents in flight. Taken from the system as it is first used, and kept.
  int64_t kv_bytes = 1LL << 30;
  // What keys and values are stored as. None: bf16, or f32 where products are computed in f32. int8 halves what bf16
  // reads and keeps; translations differ a little.
  std::optional<ElementType> kv_type;
  // What may wait before it is begun; a document that finds nobody waiting is always taken.
  int32_t max_queued_documents = 256;
  int64_t max_queued_bytes = 64 << 20;
  int64_t max_queued_tokens = 16 << 20;  // of those that are cut
  int workers = 2;                       // threads that cut documents and put replies together
  int64_t max_document_bytes = 4 << 20;
};

// Recovering: the device has failed and is opened anew, while documents go on waiting. Dead: it could not be; every
// document is refused until the process is started again.
enum class EngineState { kHealthy, kRecovering, kDead };

// What the engine is doing now, for gauges.
struct EngineStatus {
  EngineState state = EngineState::kHealthy;
  int32_t documents_running = 0, documents_waiting = 0;
  int64_t bytes_waiting = 0;
  int64_t tokens_waiting = 0;         // of documents that are cut, also of those that have begun
  double oldest_waiting_seconds = 0;  // since it was submitted; 0: none waits
  double turn_seconds = 0;            // since the step loop last turned, while it has anything to do
  int32_t rows = 0;                   // in the last step
  int64_t kv_bytes_used = 0, kv_bytes_total = 0;
};

// Told of what the engine does; for histograms. Called from the engine's thread.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void OnStep(int32_t rows, double seconds) = 0;
  // Translations under way have waited so long for others to be encoded.
  virtual void OnStall(double seconds) = 0;
  // A chunk under way has given up its memory to older ones and will begin anew.
  virtual void OnPreempt() = 0;
};

struct ModelInfo {
  ModelConfig config;
  SupportedPolicies policies;
  int64_t parameters = 0;
  std::string device;
  std::string description;  // the first paragraph of the folder's README.md
  std::vector<OperatingPoint> operating_points;
};

class Engine {
 public:
  // Fails with a status that names the file and what is wrong with it; never crashes on a bad model folder.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(const EngineOptions& options,
                                                        EngineObserver* observer = nullptr);
  virtual ~Engine() = default;  // cancels what is in flight, then joins

  // INVALID_ARGUMENT for options that cannot be; RESOURCE_EXHAUSTED only if the queue is full, so that trying again
  // later is worth it; UNAVAILABLE if the engine is dead. OnDone is called for every successful Submit and for no
  // other: with INVALID_ARGUMENT for text that cannot be and for a document that could never fit into kv_bytes, with
  // INTERNAL where the model's scores for this document are not numbers.
  virtual absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(TranslationRequest request,
                                                                    std::shared_ptr<TranslationListener> listener) = 0;

  virtual const ModelInfo& info() const = 0;
  virtual EngineStatus status() const = 0;

  // Submits and waits.
  absl::StatusOr<TranslationResult> Translate(TranslationRequest request);
};

}  // namespace salient

// The engine. It translates many documents at once, with continuous batching, and reports the cost of each.
//
// One Engine serves one model. Submit makes cheap checks and puts the document into a bounded queue. Workers split it
// into segments, tokens and chunks, and assemble its reply. One thread runs only the step loop. Documents join between
// steps and leave when they finish. No document waits for another one to end, and none changes the result of another.
// Clients share the engine by weight (engine/schedule/scheduler.h).
//
//   auto engine = Engine::Create({.model_folder = "models/en-de"});
//   auto ticket = (*engine)->Submit(request, listener);   // calls the listener for segments, then for the end
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

class KeyMemory;

struct EngineOptions {
  std::string model_folder;
  std::string device = "auto";  // auto, cpu, cuda, reference
  ComputeType compute = ComputeType::kAuto;
  int threads = 0;        // CPU threads; 0: DefaultThreads() (engine/base/cpu_share.h)
  int32_t max_rows = 64;  // hypotheses decoded in one step
  // Hypotheses that are encoded before there are rows for them. Few keep the time short that a document spends in the
  // engine under overload; many keep the rows full and let chunks of equal depth meet. 0: max_rows.
  int32_t max_rows_ahead = 0;
  int32_t encode_tokens = 2048;  // source tokens encoded together; at least one chunk
  // The time between two decoding steps that is spent on encoding. A longer encoding continues after the step. A slice
  // is exceeded by the time of a few rows at most. On a GPU encoding is concurrent, and this is not used.
  absl::Duration encode_slice = absl::Milliseconds(10);
  // Memory for the keys and values of all documents in flight, which this engine shares with others
  // (engine/key_memory.h): each takes what it needs, and gives back what it does not use when another waits for it. The
  // first engine on a device allocates it: a GPU's at once, the host's as it is first used. Null: kv_bytes of its own.
  std::shared_ptr<KeyMemory> key_memory;
  int64_t kv_bytes = 1LL << 30;
  // Number format of stored keys and values. None: bf16, or f32 if products are computed in f32. int8 halves the memory
  // and the memory traffic of bf16; translations differ slightly.
  std::optional<ElementType> kv_type;
  // Limits on waiting documents. If no document waits, the next one is always accepted.
  int32_t max_queued_documents = 256;
  int64_t max_queued_bytes = 64 << 20;
  int64_t max_queued_tokens = 16 << 20;  // of documents that are split
  int workers = 2;                       // threads that split documents and assemble replies
  int64_t max_document_bytes = 4 << 20;
};

// Recovering: the device has failed and is being reopened, while documents wait. Dead: it could not be reopened; every
// document is refused until the process is restarted.
enum class EngineState { kHealthy, kRecovering, kDead };

// The present state of the engine, for gauges.
struct EngineStatus {
  EngineState state = EngineState::kHealthy;
  int32_t documents_running = 0, documents_waiting = 0;
  int64_t tokens_waiting = 0;         // of documents that are split, including those that have started
  double oldest_waiting_seconds = 0;  // since its submission; 0: none waits
  double turn_seconds = 0;            // since the last iteration of the step loop, while it has work
  int64_t kv_bytes_used = 0, kv_bytes_total = 0;
};

// Receives events of the engine, for histograms. Called from the thread of the step loop, which waits meanwhile.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void OnStep(int32_t rows, double seconds) = 0;
  // Running translations have waited `seconds` while other documents were encoded.
  virtual void OnStall(double seconds) = 0;
  // A running chunk was preempted: it has returned its memory for older chunks and will start again.
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
  // On a bad model folder, fails with a status that names the file and the error; never crashes.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(const EngineOptions& options,
                                                        EngineObserver* observer = nullptr);
  virtual ~Engine() = default;  // cancels what is in flight, then joins

  // INVALID_ARGUMENT for invalid options; RESOURCE_EXHAUSTED only if the queue is full, so that a later retry can
  // succeed; UNAVAILABLE if the engine is dead. OnDone is called for every successful Submit and for no other: with
  // INVALID_ARGUMENT for invalid text and for a document that cannot fit into the memory for keys, with INTERNAL if the
  // model's scores for the document are not numbers.
  virtual absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(TranslationRequest request,
                                                                    std::shared_ptr<TranslationListener> listener) = 0;

  virtual const ModelInfo& info() const = 0;
  virtual EngineStatus status() const = 0;

  // Submits and waits.
  absl::StatusOr<TranslationResult> Translate(TranslationRequest request);
};

}  // namespace salient

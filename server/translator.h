// The way of one document through the server, whatever it came in by: the model is chosen, the request checked and
// handed to the engine, the result turned into a reply, and everything measured.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/base/workers.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"
#include "server/admission/admission.h"
#include "server/admission/client.h"
#include "server/admission_retry_queue.h"
#include "server/in_flight.h"
#include "server/metrics.h"
#include "server/model_registry.h"

namespace salient {

// Hears of one document, in this order: segments and progress as often as there is something to tell, then TakeResult
// once and nothing after it. Called from the engine's workers, one call at a time; must not block.
class Recipient {
 public:
  virtual ~Recipient() = default;
  virtual void TakeSegment(v1::TranslatedSegment) {}
  virtual void TakeProgress(v1::Progress) {}
  // Just before the result: while it is kept the document counts as its client's. To be kept by who holds the result in
  // memory until the client has taken it.
  virtual void TakePermit(std::unique_ptr<Admission::Permit>) {}
  virtual void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) = 0;
  // False: segments are not wanted, and not made.
  virtual bool wants_segments() const { return false; }
};

// What to make of a full queue.
enum class WhenFull {
  kRefuse,  // it counts as a refused request and carries a retry delay
  kWait,    // the caller will try again; it is not counted
};

class Translator {
 public:
  struct Limits {
    int64_t max_document_bytes = 4 << 20;
    absl::Duration default_deadline = absl::InfiniteDuration();  // of a document that comes without one
    absl::Duration reader_patience = absl::Seconds(60);          // with a client that takes nothing of its reply
  };

  Translator(const ModelRegistry& models, Metrics& metrics, const Limits& limits)
      : models_(models),
        metrics_(metrics),
        limits_(limits),
        admission_(kDocumentsInFlight * limits.max_document_bytes) {}

  // After OK, and only then, TakeResult is called. On failure the status names the field and the remedy. Who waits
  // (WhenFull::kWait) leaves a quarter of the queue to those who do not.
  absl::StatusOr<std::shared_ptr<TranslationTicket>> Start(const v1::TranslateDocumentRequest& request,
                                                           const CallInfo& call, absl::Time deadline,
                                                           std::shared_ptr<Recipient> recipient,
                                                           WhenFull when_full = WhenFull::kRefuse);

  // Whether the engine that would take the request has room for one that waits. True where the request is wrong anyway.
  bool HasRoom(const v1::TranslateDocumentRequest& request) const;

  // A request that was turned away before it came here: counted, and a line in the log.
  void TellRefused(const CallInfo& call, Refusal refusal, absl::StatusCode outcome);

  const ModelRegistry& models() const { return models_; }
  absl::Duration reader_patience() const { return limits_.reader_patience; }
  InFlight& in_flight() { return in_flight_; }
  AdmissionRetryQueue& admission_retry_queue() { return admission_retry_queue_; }

 private:
  // Of the largest size that are in memory at once.
  static constexpr int64_t kDocumentsInFlight = 32;

  absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(ServedModel& model,
                                                            const v1::TranslateDocumentRequest& request,
                                                            const CallInfo& call, absl::Time deadline,
                                                            std::shared_ptr<Recipient> recipient, Refusal* refusal);

  const ModelRegistry& models_;
  Metrics& metrics_;
  const Limits limits_;
  Admission admission_;
  InFlight in_flight_;
  AdmissionRetryQueue admission_retry_queue_;
  Workers renderer_{1};  // writes translated documents; the engine's thread must not wait for it
};

}  // namespace salient

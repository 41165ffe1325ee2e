// The way of one document through the server, whatever it came in by: the model is chosen, the request checked and
// handed to the engine, the result turned into a reply, and everything measured.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"
#include "server/admission_retry_queue.h"
#include "server/in_flight.h"
#include "server/metrics.h"
#include "server/model_registry.h"

namespace salient {

// Hears of one document, in this order: segments and progress as often as there is something to tell, then TakeResult
// once and nothing after it. Called from the engine's thread; must not block.
class Recipient {
 public:
  virtual ~Recipient() = default;
  virtual void TakeSegment(v1::TranslatedSegment) {}
  virtual void TakeProgress(v1::Progress) {}
  virtual void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) = 0;
  // False saves the work of making segments that nobody takes.
  virtual bool wants_segments() const { return false; }
};

// What to make of a full queue.
enum class WhenFull {
  kRefuse,  // it counts as a refused request and carries a retry delay
  kWait,    // the caller will try again; it is not counted
};

class Translator {
 public:
  Translator(const ModelRegistry& models, Metrics& metrics, int64_t max_document_bytes)
      : models_(models), metrics_(metrics), max_document_bytes_(max_document_bytes) {}

  // After OK, and only then, TakeResult is called. On failure the status names the field and the remedy.
  absl::StatusOr<std::shared_ptr<TranslationTicket>> Start(const v1::TranslateDocumentRequest& request,
                                                           absl::Time deadline, std::shared_ptr<Recipient> recipient,
                                                           WhenFull when_full = WhenFull::kRefuse);

  // Starts and waits. For callers with a thread to spare.
  absl::StatusOr<v1::TranslateDocumentResponse> Translate(const v1::TranslateDocumentRequest& request,
                                                          absl::Time deadline);

  // Whether the engine that would take the request has room in its queue now. True where the request is wrong anyway.
  bool HasRoom(const v1::TranslateDocumentRequest& request) const;

  // A request that was turned away before it was looked at.
  void CountRefused(absl::StatusCode outcome) { metrics_.CountRefused(outcome); }

  const ModelRegistry& models() const { return models_; }
  InFlight& in_flight() { return in_flight_; }
  AdmissionRetryQueue& admission_retry_queue() { return admission_retry_queue_; }

 private:
  absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(ServedModel& model,
                                                            const v1::TranslateDocumentRequest& request,
                                                            absl::Time deadline, std::shared_ptr<Recipient> recipient);

  const ModelRegistry& models_;
  Metrics& metrics_;
  const int64_t max_document_bytes_;
  InFlight in_flight_;
  AdmissionRetryQueue admission_retry_queue_;
};

}  // namespace salient

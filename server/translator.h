// The way of one document through the server, whatever it came in by: the model is chosen, the request checked and
// handed to the engine, the result turned into a reply, and everything measured.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/base/workers.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"
#include "server/admission/admission.h"
#include "server/admission/client.h"
#include "server/admission_retry_queue.h"
#include "server/in_flight.h"
#include "server/language_resources.h"
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
  // A document that comes without a deadline gets `default_deadline`. `resources`: what requests name; null: none.
  Translator(const ModelRegistry& models, Metrics& metrics, int64_t max_document_bytes,
             absl::Duration default_deadline = absl::InfiniteDuration(),
             std::shared_ptr<LanguageResources> resources = nullptr)
      : models_(models),
        metrics_(metrics),
        max_document_bytes_(max_document_bytes),
        default_deadline_(default_deadline),
        resources_(resources != nullptr ? std::move(resources)
                                        : std::make_shared<LanguageResources>("", std::vector<std::string>())),
        admission_(kDocumentsInFlight * max_document_bytes) {}

  // After OK, and only then, TakeResult is called. On failure the status names the field and the remedy. Who waits
  // (WhenFull::kWait) leaves a quarter of the queue to those who do not.
  absl::StatusOr<std::shared_ptr<TranslationTicket>> Start(const v1::TranslateDocumentRequest& request,
                                                           const CallInfo& call, absl::Time deadline,
                                                           std::shared_ptr<Recipient> recipient,
                                                           WhenFull when_full = WhenFull::kRefuse);

  // Whether the engine that would take the request has room for one that waits. True where the request is wrong anyway.
  bool HasRoom(const v1::TranslateDocumentRequest& request) const;

  // A request that was turned away before it was looked at.
  void CountRefused(absl::StatusCode outcome) { metrics_.CountRefused(outcome); }
  void CountUnauthenticated();

  const ModelRegistry& models() const { return models_; }
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
  const int64_t max_document_bytes_;
  const absl::Duration default_deadline_;
  const std::shared_ptr<LanguageResources> resources_;
  Admission admission_;
  InFlight in_flight_;
  AdmissionRetryQueue admission_retry_queue_;
  Workers renderer_{1};  // writes translated documents; the engine's thread must not wait for it
};

}  // namespace salient

// Handles one document, for all RPCs and HTTP: chooses the model, checks the request, submits it to the engine,
// converts the result to a reply, and updates the metrics.
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
#include "server/admission/retry_queue.h"
#include "server/models/model_registry.h"
#include "server/models/model_slot.h"
#include "server/request/language_resources.h"
#include "server/retranslation/guarded_translation.h"
#include "server/telemetry/metrics.h"
#include "server/translation/in_flight.h"

namespace salient {

// Receives the events of one document: any number of segments and progress, then TakeResult once, as the last call.
// Called from the engine's workers, one call at a time; must not block.
class Recipient {
 public:
  virtual ~Recipient() = default;
  // `permit`: the document's, to count what is held of its segments; null after TakePermit.
  virtual void TakeSegment(v1::TranslatedSegment&&, const Admission::Permit*) {}
  virtual void TakeProgress(v1::Progress) {}
  // Before the last segments and the result: while it is kept the document counts as its client's. To be kept by who
  // holds the result in memory until the client has taken it.
  virtual void TakePermit(std::unique_ptr<Admission::Permit>) {}
  virtual void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) = 0;
  // False: segments are not needed and not created.
  virtual bool wants_segments() const { return false; }
};

// What to do if the queue is full.
enum class WhenFull {
  kRefuse,  // the request is counted as refused, and the status has a retry delay
  kWait,    // the caller retries; the request is not counted
};

// Whether this error of Start's is that there was no room for what the document was unpacked to. The next try will
// unpack it again, so it should wait for the error's retry delay.
bool WasUnpacked(const absl::Status& status);

class Translator {
 public:
  struct Limits {
    int64_t max_document_bytes = 4 << 20;
    absl::Duration default_deadline = absl::InfiniteDuration();  // the deadline of documents that have none
    absl::Duration reader_patience = absl::Seconds(60);          // for a gRPC client that reads nothing of its reply
    GuardMode guard = GuardMode::kRetry;                         // of requests that say nothing about it
  };

  // `resources`: the glossaries and memories that requests name; null: none.
  Translator(const ModelRegistry& models, Metrics& metrics, const Limits& limits,
             std::shared_ptr<LanguageResources> resources = nullptr)
      : models_(models),
        metrics_(metrics),
        limits_(limits),
        resources_(resources != nullptr ? std::move(resources)
                                        : std::make_shared<LanguageResources>("", std::vector<std::string>())),
        admission_(kDocumentsInFlight * limits.max_document_bytes),
        held_(kDocumentsInFlight * limits.max_document_bytes) {}

  // TakeResult is called if and only if this returns OK. An error names the field and the remedy. If the model is not
  // in memory, returns OK, and the document waits until it is loaded; what is wrong with it is then its result. So it
  // is if the document has to be parsed, unless the caller waits. Callers that wait (WhenFull::kWait) may use three
  // quarters of the queue; the rest is for callers that do not.
  absl::StatusOr<std::shared_ptr<TranslationTicket>> Start(const v1::TranslateDocumentRequest& request,
                                                           const CallInfo& call, absl::Time deadline,
                                                           std::shared_ptr<Recipient> recipient,
                                                           WhenFull when_full = WhenFull::kRefuse);

  // For what waits to be given to Start: a part of the memory for it, whose limits are those of documents in flight.
  // RESOURCE_EXHAUSTED, with a retry delay, if there is no room; the request is counted as refused.
  absl::StatusOr<std::unique_ptr<Admission::Permit>> Hold(int64_t bytes, const CallInfo& call);

  // Takes tokens of the client's allowance for several documents at once, which are then started with these as their
  // CallInfo's; null: the client has no such limit. RESOURCE_EXHAUSTED, with a retry delay, if the allowance is used
  // up; the request is counted as refused.
  absl::StatusOr<std::shared_ptr<ReservedTokens>> Reserve(int64_t tokens, const CallInfo& call);

  // Counts a request that was refused before it was read, and writes its log line.
  void TellRefused(const CallInfo& call, Refusal refusal, absl::StatusCode outcome);

  const ModelRegistry& models() const { return models_; }
  LanguageResources& resources() const { return *resources_; }
  absl::Duration reader_patience() const { return limits_.reader_patience; }
  InFlight& in_flight() { return in_flight_; }
  AdmissionRetryQueue& admission_retry_queue() { return admission_retry_queue_; }

 private:
  // The number of documents of the largest size that may be in memory at once.
  static constexpr int64_t kDocumentsInFlight = 32;

  // A document that has been admitted, until it is its engine's.
  struct Admitted {
    CallInfo call;
    absl::Time arrival, deadline;
    std::unique_ptr<InFlight::Slot> place;
    std::unique_ptr<Admission::Permit> permit;
    std::shared_ptr<Recipient> recipient;
  };
  class WaitingDocument;

  absl::StatusOr<std::shared_ptr<TranslationTicket>> Admit(const std::shared_ptr<ModelSlot>& slot,
                                                           const v1::TranslateDocumentRequest& request,
                                                           const CallInfo& call, absl::Time deadline,
                                                           std::shared_ptr<Recipient> recipient, WhenFull when_full,
                                                           Refusal* refusal);
  absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(const std::shared_ptr<ServedModel>& model,
                                                            const v1::TranslateDocumentRequest& request,
                                                            Admitted admitted, Refusal* refusal);
  // Counts and logs a document that its model does not translate; fills in when to try again.
  void TellNotTaken(const ModelSlot& slot, const v1::TranslateDocumentRequest& request, const CallInfo& call,
                    Refusal refusal, absl::Status& status);

  const ModelRegistry& models_;
  Metrics& metrics_;
  const Limits limits_;
  const std::shared_ptr<LanguageResources> resources_;
  Admission admission_;
  Admission held_;  // documents of streams, and texts of other services' clients, that wait to be admitted
  InFlight in_flight_;
  AdmissionRetryQueue admission_retry_queue_;
  Workers renderer_{1};  // renders translated documents, outside the engine's thread
  // Parse documents of formats, glossaries and memories outside the caller's thread, which serves other connections:
  // one document of each client at a time.
  Workers parsers_{2};
  NamedLanes parsing_{parsers_};
};

}  // namespace salient

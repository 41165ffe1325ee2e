#include "server/translator.h"

#include <algorithm>
#include <future>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/convert.h"
#include "server/settings.h"
#include "server/status.h"

namespace salient {
namespace {

// A client whose deadline passes cancels the call, and does so a little before the deadline as the server reckons it,
// which starts to count when the request has arrived.
constexpr absl::Duration kDeadlineSlack = absl::Milliseconds(100);

absl::Status DeadlineMissed() {
  return absl::DeadlineExceededError(
      "the deadline passed before the translation was finished; allow more time, or ask "
      "for a cheaper setting with operating_point or latency_target_seconds");
}

// When a slot in the queue should fall free: a document's mean share of the engine's time, as far as is known from
// what runs. A draft is enough, since RetryInfo only spreads the next tries.
absl::Duration EstimateRetryDelay(const EngineStatus& status) {
  const int32_t running = std::max(status.documents_running, 1);
  return std::clamp(absl::Seconds(static_cast<double>(status.documents_waiting) / running), absl::Milliseconds(500),
                    absl::Seconds(30));
}

// Stands between the engine and a recipient: makes messages of values, and measures.
class MeteredListener final : public TranslationListener {
 public:
  struct Context {
    ServedModel& model;
    InFlight& in_flight;
    AdmissionRetryQueue& admission_retry_queue;
    std::string operating_point;
    absl::Time arrival, deadline;
  };

  MeteredListener(Context context, std::unique_ptr<InFlight::Slot> slot, std::shared_ptr<Recipient> recipient)
      : context_(std::move(context)), slot_(std::move(slot)), recipient_(std::move(recipient)) {}

  void OnSegment(const TranslatedSegment& segment) override {
    stage_ = Stage::kDecode;
    if (!first_segment_seen_) {
      first_segment_seen_ = true;
      context_.model.metrics->ObserveFirstSegment(SecondsSinceArrival());
    }
    if (recipient_->wants_segments()) recipient_->TakeSegment(ToProto(segment));
  }

  void OnProgress(const TranslationProgress& progress) override {
    if (progress.target_tokens > 0) {
      stage_ = Stage::kDecode;
    } else if (!progress.queued && stage_ == Stage::kQueue) {
      stage_ = Stage::kEncode;
    }
    recipient_->TakeProgress(ToProto(progress));
  }

  void OnDone(absl::StatusOr<TranslationResult> result) override {
    const std::shared_ptr<Recipient> recipient = std::move(recipient_);
    // The slot is given up only after the reply is on its way, for a drain waits until all slots are free.
    const std::unique_ptr<InFlight::Slot> slot = std::move(slot_);
    if (result.ok()) {
      context_.model.metrics->ObserveResult(result->report, SecondsSinceArrival());
      context_.model.metrics->CountFinished(absl::StatusCode::kOk);
      v1::TranslateDocumentResponse reply = ToProto(*std::move(result));
      reply.set_model(context_.model.description.name());
      reply.set_operating_point(context_.operating_point);
      recipient->TakeResult(std::move(reply));
    } else {
      const absl::Status status = Explain(result.status());
      context_.model.metrics->CountFinished(status.code());
      if (absl::IsDeadlineExceeded(status)) context_.model.metrics->CountDeadlineMissed(stage_);
      recipient->TakeResult(status);
    }
    context_.admission_retry_queue.Nudge();
  }

 private:
  double SecondsSinceArrival() const { return absl::ToDoubleSeconds(absl::Now() - context_.arrival); }

  // A cancellation has one of three causes, of which the engine knows none: the call's deadline (gRPC cancels a call
  // when its time is over), the server's end, the client's wish.
  absl::Status Explain(const absl::Status& status) const {
    if (absl::IsDeadlineExceeded(status)) return DeadlineMissed();
    if (!absl::IsCancelled(status)) return status;
    if (absl::Now() + kDeadlineSlack >= context_.deadline) return DeadlineMissed();
    if (context_.in_flight.stopped()) {
      return absl::UnavailableError("the server stopped before the translation was finished; send the document again");
    }
    return absl::CancelledError("cancelled by the client");
  }

  const Context context_;
  std::unique_ptr<InFlight::Slot> slot_;
  std::shared_ptr<Recipient> recipient_;
  bool first_segment_seen_ = false;
  Stage stage_ = Stage::kQueue;
};

class Waiter final : public Recipient {
 public:
  void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) override {
    promise_.set_value(std::move(result));
  }
  absl::StatusOr<v1::TranslateDocumentResponse> Wait() { return promise_.get_future().get(); }

 private:
  std::promise<absl::StatusOr<v1::TranslateDocumentResponse>> promise_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<TranslationTicket>> Translator::Start(const v1::TranslateDocumentRequest& request,
                                                                     absl::Time deadline,
                                                                     std::shared_ptr<Recipient> recipient,
                                                                     WhenFull when_full) {
  auto model = models_.Choose(request);
  if (!model.ok()) {
    metrics_.CountRefused(model.status().code());
    return model.status();
  }
  auto ticket = Submit(**model, request, deadline, std::move(recipient));
  if (ticket.ok()) return ticket;
  absl::Status status = ticket.status();
  if (absl::IsResourceExhausted(status)) {
    if (when_full == WhenFull::kWait) return status;
    SetRetryDelay(status, EstimateRetryDelay((*model)->engine->status()));
  }
  (*model)->metrics->CountFinished(status.code());
  if (absl::IsDeadlineExceeded(status)) (*model)->metrics->CountDeadlineMissed(Stage::kQueue);
  return status;
}

absl::StatusOr<std::shared_ptr<TranslationTicket>> Translator::Submit(ServedModel& model,
                                                                      const v1::TranslateDocumentRequest& request,
                                                                      absl::Time deadline,
                                                                      std::shared_ptr<Recipient> recipient) {
  const absl::Time arrival = absl::Now();
  auto slot = in_flight_.Enter();
  if (!slot.ok()) return slot.status();
  if (arrival >= deadline) return DeadlineMissed();
  auto settings = ReadSettings(request, model.engine->info(), max_document_bytes_);
  if (!settings.ok()) return settings.status();
  settings->request.deadline = deadline;

  const uint64_t id = (*slot)->id();
  auto listener = std::make_shared<MeteredListener>(
      MeteredListener::Context{model, in_flight_, admission_retry_queue_, settings->operating_point, arrival, deadline},
      *std::move(slot), std::move(recipient));
  auto ticket = model.engine->Submit(std::move(settings->request), listener);
  if (ticket.ok()) in_flight_.SetTicket(id, *ticket);
  return ticket;
}

absl::StatusOr<v1::TranslateDocumentResponse> Translator::Translate(const v1::TranslateDocumentRequest& request,
                                                                    absl::Time deadline) {
  auto waiter = std::make_shared<Waiter>();
  auto ticket = Start(request, deadline, waiter);
  if (!ticket.ok()) return ticket.status();
  return waiter->Wait();
}

bool Translator::HasRoom(const v1::TranslateDocumentRequest& request) const {
  auto model = models_.Choose(request);
  if (!model.ok()) return true;
  return (*model)->engine->status().documents_waiting < (*model)->options.max_queued_documents;
}

}  // namespace salient

#include "server/translator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/conversion.h"
#include "server/convert.h"
#include "server/log.h"
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
class MeteredListener final : public TranslationListener, public std::enable_shared_from_this<MeteredListener> {
 public:
  struct Context {
    ServedModel& model;
    InFlight& in_flight;
    AdmissionRetryQueue& admission_retry_queue;
    Workers& renderer;
    std::shared_ptr<const Conversion> conversion;  // of a document that is not plain text; else null
    CallInfo call;
    bool bulk = false;
    std::string operating_point;
    absl::Time arrival, deadline;
  };

  MeteredListener(Context context, std::unique_ptr<InFlight::Slot> slot, std::unique_ptr<Admission::Permit> permit,
                  std::shared_ptr<Recipient> recipient)
      : context_(std::move(context)),
        slot_(std::move(slot)),
        permit_(std::move(permit)),
        recipient_(std::move(recipient)) {}

  void OnSegment(const TranslatedSegment& segment) override {
    stage_ = Stage::kDecode;
    if (!first_segment_seen_) {
      first_segment_seen_ = true;
      context_.model.metrics->ObserveFirstSegment(SecondsSinceArrival());
    }
    if (!recipient_->wants_segments()) return;
    if (context_.conversion == nullptr) return recipient_->TakeSegment(ToProto(segment));
    for (v1::TranslatedSegment& shown : context_.conversion->Shown(ToProto(segment))) {
      recipient_->TakeSegment(std::move(shown));
    }
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
    if (context_.conversion == nullptr || !result.ok()) return Finish(std::move(result));
    auto kept = std::make_shared<absl::StatusOr<TranslationResult>>(std::move(result));
    context_.renderer.Post([self = shared_from_this(), kept] { self->Finish(std::move(*kept)); });
  }

 private:
  void Finish(absl::StatusOr<TranslationResult> result) {
    const std::shared_ptr<Recipient> recipient = std::move(recipient_);
    // The slot is given up only after the reply is on its way, for a drain waits until all slots are free.
    const std::unique_ptr<InFlight::Slot> slot = std::move(slot_);
    if (result.ok()) permit_->Correct(result->report.source_tokens);
    recipient->TakePermit(std::move(permit_));
    Log(result);
    if (result.ok()) {
      context_.model.metrics->ObserveResult(result->report, SecondsSinceArrival());
      v1::TranslateDocumentResponse reply = ToProto(*std::move(result));
      reply.set_model(context_.model.description.name());
      reply.set_operating_point(context_.operating_point);
      absl::Status rendered;
      if (context_.conversion != nullptr) rendered = context_.conversion->Render(&reply);
      context_.model.metrics->CountFinished(rendered.code());
      if (rendered.ok() && context_.conversion != nullptr && recipient->wants_segments()) {
        for (v1::TranslatedSegment& segment : context_.conversion->NotShown(reply)) {
          recipient->TakeSegment(std::move(segment));
        }
      }
      if (rendered.ok()) {
        recipient->TakeResult(std::move(reply));
      } else {
        recipient->TakeResult(rendered);
      }
    } else {
      const absl::Status status = Explain(result.status());
      context_.model.metrics->CountFinished(status.code());
      if (absl::IsDeadlineExceeded(status)) context_.model.metrics->CountDeadlineMissed(stage_);
      recipient->TakeResult(status);
    }
    context_.admission_retry_queue.Nudge();
  }

  void Log(const absl::StatusOr<TranslationResult>& result) const {
    DocumentLine line{context_.call, context_.model.description.name(), context_.operating_point, context_.bulk};
    line.outcome = result.ok() ? absl::StatusCode::kOk : Explain(result.status()).code();
    if (result.ok()) line.report = result->report;
    line.total_seconds = SecondsSinceArrival();
    LogDocument(line);
  }

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
  std::unique_ptr<Admission::Permit> permit_;
  std::shared_ptr<Recipient> recipient_;
  bool first_segment_seen_ = false;
  Stage stage_ = Stage::kQueue;
};

}  // namespace

absl::StatusOr<std::shared_ptr<TranslationTicket>> Translator::Start(const v1::TranslateDocumentRequest& request,
                                                                     const CallInfo& call, absl::Time deadline,
                                                                     std::shared_ptr<Recipient> recipient,
                                                                     WhenFull when_full) {
  auto model = models_.Choose(request);
  if (!model.ok()) {
    TellRefused(call, Refusal::kOther, model.status().code());
    return model.status();
  }
  if (when_full == WhenFull::kWait && !HasRoom(request) && !in_flight_.draining()) {
    return absl::ResourceExhaustedError("the queue is full");
  }
  Refusal refusal = Refusal::kOther;
  auto ticket = Submit(**model, request, call, deadline, std::move(recipient), &refusal);
  if (ticket.ok()) return ticket;
  absl::Status status = ticket.status();
  if (absl::IsResourceExhausted(status)) {
    if (when_full == WhenFull::kWait) return status;
    if (!GetRetryDelay(status).has_value()) {
      refusal = Refusal::kQueueFull;
      SetRetryDelay(status, EstimateRetryDelay((*model)->engine->status()));
    }
  }
  metrics_.CountRefusal(refusal, call.client.kind);
  (*model)->metrics->CountFinished(status.code());
  LogDocument({.call = call,
               .model = (*model)->description.name(),
               .bulk = request.priority() == v1::PRIORITY_BULK,
               .outcome = status.code(),
               .refusal = RefusalName(refusal)});
  if (absl::IsDeadlineExceeded(status)) (*model)->metrics->CountDeadlineMissed(Stage::kQueue);
  return status;
}

absl::StatusOr<std::shared_ptr<TranslationTicket>> Translator::Submit(ServedModel& model,
                                                                      const v1::TranslateDocumentRequest& request,
                                                                      const CallInfo& call, absl::Time deadline,
                                                                      std::shared_ptr<Recipient> recipient,
                                                                      Refusal* refusal) {
  const absl::Time arrival = absl::Now();
  deadline = std::min(deadline, arrival + limits_.default_deadline);
  auto slot = in_flight_.Enter();
  if (!slot.ok()) return slot.status();
  if (arrival >= deadline) return DeadlineMissed();
  // Before anything is read of the document: reading a file costs much more than its bytes do.
  const auto bytes = static_cast<int64_t>(request.document().text().size() + request.document().content().size());
  auto permit = admission_.Enter(call.client, bytes, arrival, refusal);
  if (!permit.ok()) return permit.status();
  std::shared_ptr<const Conversion> conversion;
  if (Conversion::Needed(request)) {
    auto created =
        Conversion::Create(request, model.engine->info().config, *resources_, limits_.max_document_bytes);
    if (!created.ok()) return created.status();
    conversion = *std::move(created);
  }
  auto settings =
      ReadSettings(conversion != nullptr ? conversion->request() : request, model.engine->info(), limits_.max_document_bytes);
  if (!settings.ok()) return settings.status();
  settings->request.deadline = deadline;
  settings->request.client = call.client.id();
  settings->request.weight = call.client.limits.weight;

  const uint64_t id = (*slot)->id();
  auto listener = std::make_shared<MeteredListener>(
      MeteredListener::Context{model, in_flight_, admission_retry_queue_, renderer_, conversion, call,
                               settings->request.bulk, settings->operating_point, arrival, deadline},
      *std::move(slot), *std::move(permit), std::move(recipient));
  auto ticket = model.engine->Submit(std::move(settings->request), listener);
  if (ticket.ok()) in_flight_.SetTicket(id, *ticket);
  return ticket;
}

void Translator::TellRefused(const CallInfo& call, Refusal refusal, absl::StatusCode outcome) {
  metrics_.CountRefused(outcome);
  metrics_.CountRefusal(refusal, call.client.kind);
  LogDocument({.call = call, .outcome = outcome, .refusal = RefusalName(refusal)});
}

bool Translator::HasRoom(const v1::TranslateDocumentRequest& request) const {
  auto model = models_.Choose(request);
  if (!model.ok()) return true;
  const int32_t most = (*model)->options.max_queued_documents;
  return (*model)->engine->status().documents_waiting < most - most / 4;
}

}  // namespace salient

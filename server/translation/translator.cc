#include "server/translation/translator.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/admission/retry_delay.h"
#include "server/request/conversion.h"
#include "server/request/proto.h"
#include "server/request/settings.h"
#include "server/retranslation/term_translation.h"
#include "server/telemetry/log.h"

namespace salient {
namespace {

// A client whose deadline passes cancels the call, and does so a little before the deadline as the server reckons it,
// which starts to count when the request has arrived.
constexpr absl::Duration kDeadlineSlack = absl::Milliseconds(100);

// What callers that wait for room may use of a queue.
constexpr double kShareOfThoseWhoWait = 0.75;

constexpr char kUnpacked[] = "salient/unpacked";  // the payload of errors for which WasUnpacked is true

absl::Status DeadlineMissed() {
  return absl::DeadlineExceededError(
      "the deadline passed before the translation was finished; allow more time, or ask "
      "for a cheaper setting with operating_point or latency_target_seconds");
}

// A cancellation has one of three causes, of which an engine knows none: the call's deadline (gRPC cancels a call when
// its time is over), the server's end, the client's wish.
absl::Status Explain(const absl::Status& status, absl::Time deadline, const InFlight& in_flight) {
  if (absl::IsDeadlineExceeded(status)) return DeadlineMissed();
  if (!absl::IsCancelled(status)) return status;
  if (absl::Now() + kDeadlineSlack >= deadline) return DeadlineMissed();
  if (in_flight.stopped()) {
    return absl::UnavailableError("the server stopped before the translation was finished; send the document again");
  }
  return absl::CancelledError("cancelled by the client");
}

// When a slot in the queue should fall free: a document's mean share of the engine's time, as far as is known from
// what runs. A draft is enough, since RetryInfo only spreads the next tries.
absl::Duration EstimateRetryDelay(const EngineStatus& status) {
  const int32_t running = std::max(status.documents_running, 1);
  return std::clamp(absl::Seconds(static_cast<double>(status.documents_waiting) / running), absl::Milliseconds(500),
                    absl::Seconds(30));
}

// What the document would take alone. A setting that is no operating point is taken for one of the middle.
double SecondsAlone(const Settings& settings, const ModelInfo& model) {
  if (settings.operating_point != nullptr) return settings.operating_point->SecondsAlone(settings.estimated_tokens);
  if (model.operating_points.empty()) return 0;
  double sum = 0;
  for (const OperatingPoint& point : model.operating_points) sum += point.SecondsAlone(settings.estimated_tokens);
  return sum / static_cast<double>(model.operating_points.size());
}

// In memory a term that arrives as two bytes takes fifty.
DocumentSize SizeOf(const v1::TranslateDocumentRequest& request) {
  const v1::Document& document = request.document();
  return {static_cast<int64_t>(request.SpaceUsedLong()),
          static_cast<int64_t>(document.text().size() + document.content().size())};
}

// Stands between the engine and a recipient: makes messages of values, and measures.
class MeteredListener final : public CheckedListener, public std::enable_shared_from_this<MeteredListener> {
 public:
  struct Context {
    std::shared_ptr<ServedModel> model;
    InFlight& in_flight;
    AdmissionRetryQueue& admission_retry_queue;
    Workers& renderer;
    std::shared_ptr<const Conversion> conversion;  // of a document that is not plain text; else null
    CallInfo call;
    bool bulk = false;
    GuardMode guard = GuardMode::kOff;
    const OperatingPoint* operating_point = nullptr;  // the model's; null: none
    bool searches_as_point = true;                    // and not with a search of the request's own
    absl::Time arrival, deadline;
    std::unique_ptr<Pace::Work> work;

    std::string point_name() const { return operating_point == nullptr ? "" : operating_point->name; }
  };

  MeteredListener(Context context, std::unique_ptr<InFlight::Slot> slot, std::unique_ptr<Admission::Permit> permit,
                  std::shared_ptr<Recipient> recipient)
      : context_(std::move(context)),
        slot_(std::move(slot)),
        permit_(std::move(permit)),
        recipient_(std::move(recipient)) {}

  void OnSegment(const TranslatedSegment& segment, const GuardVerdict* verdict) override {
    stage_ = Stage::kDecode;
    if (!first_segment_seen_) {
      first_segment_seen_ = true;
      context_.model->metrics->ObserveFirstSegment(SecondsSinceArrival());
    }
    if (!recipient_->wants_segments()) return;
    v1::TranslatedSegment wire = ToProto(segment);
    if (verdict != nullptr) *wire.mutable_check() = ToProto(*verdict);
    if (context_.conversion == nullptr) return recipient_->TakeSegment(std::move(wire), permit_.get());
    for (v1::TranslatedSegment& shown : context_.conversion->Shown(std::move(wire), repeated_)) {
      recipient_->TakeSegment(std::move(shown), permit_.get());
    }
  }

  void OnProgress(const TranslationProgress& progress) override {
    if (progress.target_tokens > 0) {
      stage_ = Stage::kDecode;
    } else if (!progress.queued && stage_ == Stage::kQueue) {
      stage_ = Stage::kEncode;
    }
    const v1::Progress wire = ToProto(progress);
    recipient_->TakeProgress(context_.conversion == nullptr ? wire : context_.conversion->OfDocument(wire));
  }

  void OnDone(absl::StatusOr<TranslationResult> result, std::vector<GuardVerdict> verdicts,
              GuardCounts counts) override {
    verdicts_ = std::move(verdicts);
    counts_ = counts;
    if (context_.conversion == nullptr || !result.ok()) return Finish(std::move(result));
    auto kept = std::make_shared<absl::StatusOr<TranslationResult>>(std::move(result));
    context_.renderer.Post([self = shared_from_this(), kept] { self->Finish(std::move(*kept)); });
  }

 private:
  // What the guard has found and done.
  void AddVerdicts(v1::TranslateDocumentResponse* reply) const {
    reply->set_guard(ToProto(context_.guard));
    for (size_t i = 0; i < verdicts_.size(); ++i) {
      *reply->mutable_segments(static_cast<int>(i))->mutable_check() = ToProto(verdicts_[i]);
    }
    v1::CostReport& report = *reply->mutable_report();
    report.set_segments_flagged(counts_.flagged);
    report.set_segments_retried(counts_.retried);
    report.set_segments_replaced(counts_.replaced);
    report.set_retry_target_tokens(counts_.retry_target_tokens);
  }

  void Finish(absl::StatusOr<TranslationResult> result) {
    // The slot is given up only after the reply is on its way and the recipient is let go of, for a drain waits until
    // all slots are free.
    const std::unique_ptr<InFlight::Slot> slot = std::move(slot_);
    const std::shared_ptr<Recipient> recipient = std::move(recipient_);
    std::optional<CostReport> report;
    if (result.ok()) {
      report = result->report;
      permit_->Correct(report->source_tokens);
      if (context_.operating_point != nullptr && context_.searches_as_point) {
        context_.work->Learn(context_.operating_point->SecondsAlone(report->source_tokens), absl::Now());
      }
    } else if (stage_ != Stage::kQueue) {
      permit_->Spend();  // the engine has worked on it
    }
    absl::StatusOr<v1::TranslateDocumentResponse> reply = MakeReply(std::move(result));
    Log(reply.status(), report);
    Count(reply.status(), report);
    recipient->TakePermit(std::move(permit_));
    if (reply.ok() && context_.conversion != nullptr && recipient->wants_segments()) {
      for (v1::TranslatedSegment& segment : context_.conversion->NotShown(*reply)) {
        recipient->TakeSegment(std::move(segment), nullptr);
      }
    }
    recipient->TakeResult(std::move(reply));
    context_.admission_retry_queue.Nudge();
  }

  absl::StatusOr<v1::TranslateDocumentResponse> MakeReply(absl::StatusOr<TranslationResult> result) const {
    if (!result.ok()) return Explain(result.status(), context_.deadline, context_.in_flight);
    v1::TranslateDocumentResponse reply = ToProto(*std::move(result));
    AddVerdicts(&reply);
    reply.set_model(context_.model->description.name());
    reply.set_operating_point(context_.point_name());
    if (context_.conversion != nullptr) {
      if (absl::Status rendered = context_.conversion->Render(&reply); !rendered.ok()) return rendered;
    }
    return reply;
  }

  // `report`: of a document that the engine has translated, whatever became of its reply.
  void Count(const absl::Status& outcome, const std::optional<CostReport>& report) const {
    ModelMetrics& metrics = *context_.model->metrics;
    metrics.CountFinished(outcome.code());
    if (report.has_value()) {
      metrics.ObserveResult(*report, SecondsSinceArrival());
      metrics.ObserveGuard(verdicts_);
    }
    if (absl::IsDeadlineExceeded(outcome)) metrics.CountDeadlineMissed(stage_);
  }

  void Log(const absl::Status& outcome, const std::optional<CostReport>& report) const {
    DocumentLine line{context_.call, context_.model->description.name(), context_.point_name(), context_.bulk};
    line.outcome = outcome.code();
    if (report.has_value()) line.report = *report;
    line.total_seconds = SecondsSinceArrival();
    LogDocument(line);
  }

  double SecondsSinceArrival() const { return absl::ToDoubleSeconds(absl::Now() - context_.arrival); }

  const Context context_;
  std::unique_ptr<InFlight::Slot> slot_;
  std::unique_ptr<Admission::Permit> permit_;
  std::shared_ptr<Recipient> recipient_;
  std::vector<GuardVerdict> verdicts_;
  GuardCounts counts_;
  Conversion::Repeated repeated_;
  bool first_segment_seen_ = false;
  Stage stage_ = Stage::kQueue;
};

}  // namespace

bool WasUnpacked(const absl::Status& status) { return status.GetPayload(kUnpacked).has_value(); }

// Waits until its model is loaded, or until it is parsed, and is then the ticket of what its engine translates.
class Translator::WaitingDocument final : public ModelWaiter, public TranslationTicket {
 public:
  WaitingDocument(Translator& translator, std::shared_ptr<ModelSlot> slot, const v1::TranslateDocumentRequest& request,
                  Admitted admitted)
      : translator_(translator),
        deadline_(admitted.deadline),
        bytes_(SizeOf(request).bytes),
        waiting_(std::make_unique<Waiting>(std::move(slot), request, std::move(admitted))) {}

  void TakeModel(absl::StatusOr<std::shared_ptr<ServedModel>> model) override {
    const std::unique_ptr<Waiting> waiting = Leave();
    if (waiting == nullptr) return;
    if (!model.ok()) return Refuse(*waiting, model.status());
    Refusal refusal = Refusal::kOther;
    auto ticket = translator_.Submit(*model, waiting->request, std::move(waiting->admitted), &refusal);
    if (ticket.ok()) return cancellation_.Attach(*std::move(ticket));
    Refuse(*waiting, ticket.status(), refusal);
  }

  void Cancel() override {
    if (const std::unique_ptr<Waiting> waiting = Leave()) {
      Refuse(*waiting, absl::CancelledError());
    } else {
      cancellation_.Cancel();
    }
  }

  bool gone() const override {
    std::lock_guard lock(mutex_);
    return waiting_ == nullptr;
  }
  absl::Time deadline() const override { return deadline_; }
  int64_t bytes() const override { return bytes_; }

  // For a caller who finds the model in memory after all.
  Admitted TakeBack() { return std::move(Leave()->admitted); }

 private:
  struct Waiting {
    Waiting(std::shared_ptr<ModelSlot> its_slot, v1::TranslateDocumentRequest its_request, Admitted its)
        : slot(std::move(its_slot)),
          request(std::move(its_request)),
          call(its.call),
          recipient(its.recipient),
          admitted(std::move(its)) {}
    const std::shared_ptr<ModelSlot> slot;
    const v1::TranslateDocumentRequest request;
    const CallInfo call;
    const std::shared_ptr<Recipient> recipient;
    Admitted admitted;  // not after it was submitted
  };

  std::unique_ptr<Waiting> Leave() {
    std::lock_guard lock(mutex_);
    return std::move(waiting_);
  }

  void Refuse(const Waiting& waiting, absl::Status status, Refusal refusal = Refusal::kOther) {
    status = Explain(status, deadline_, translator_.in_flight_);
    translator_.TellNotTaken(*waiting.slot, waiting.request, waiting.call, refusal, status);
    waiting.recipient->TakeResult(status);
    translator_.admission_retry_queue_.Nudge();
  }

  Translator& translator_;
  const absl::Time deadline_;
  const int64_t bytes_;
  Cancellation cancellation_;
  mutable std::mutex mutex_;
  std::unique_ptr<Waiting> waiting_;  // null: no more
};

absl::StatusOr<std::shared_ptr<TranslationTicket>> Translator::Start(const v1::TranslateDocumentRequest& request,
                                                                     const CallInfo& call, absl::Time deadline,
                                                                     std::shared_ptr<Recipient> recipient,
                                                                     WhenFull when_full) {
  auto slot = models_.Choose(request);
  if (!slot.ok()) {
    TellRefused(call, Refusal::kOther, slot.status().code());
    return slot.status();
  }
  const bool may_wait = when_full == WhenFull::kWait && !in_flight_.draining() && absl::Now() < deadline;
  if (may_wait && !(*slot)->HasRoom(kShareOfThoseWhoWait)) return absl::ResourceExhaustedError("the queue is full");
  Refusal refusal = Refusal::kOther;
  auto ticket = Admit(*slot, request, call, deadline, std::move(recipient), when_full, &refusal);
  if (ticket.ok()) return ticket;
  absl::Status status = ticket.status();
  if (absl::IsResourceExhausted(status) && when_full == WhenFull::kWait) return status;
  TellNotTaken(**slot, request, call, refusal, status);
  return status;
}

void Translator::TellNotTaken(const ModelSlot& slot, const v1::TranslateDocumentRequest& request, const CallInfo& call,
                              Refusal refusal, absl::Status& status) {
  if (absl::IsResourceExhausted(status) && !GetRetryDelay(status).has_value()) {
    refusal = Refusal::kQueueFull;
    const std::shared_ptr<ServedModel> model = slot.loaded();
    SetRetryDelay(status, EstimateRetryDelay(model != nullptr ? model->engine->status()
                                                              : EngineStatus{.documents_waiting = slot.waiting()}));
  }
  metrics_.CountRefusal(refusal, call.client.kind);
  LogDocument({.call = call,
               .model = slot.name(),
               .bulk = request.priority() == v1::PRIORITY_BULK,
               .outcome = status.code(),
               .refusal = RefusalName(refusal)});
  ModelMetrics* const metrics = slot.metrics();
  if (metrics == nullptr) return metrics_.CountRefused(status.code());
  metrics->CountFinished(status.code());
  if (absl::IsDeadlineExceeded(status)) metrics->CountDeadlineMissed(Stage::kQueue);
}

absl::StatusOr<std::shared_ptr<TranslationTicket>> Translator::Admit(const std::shared_ptr<ModelSlot>& slot,
                                                                     const v1::TranslateDocumentRequest& request,
                                                                     const CallInfo& call, absl::Time deadline,
                                                                     std::shared_ptr<Recipient> recipient,
                                                                     WhenFull when_full, Refusal* refusal) {
  const absl::Time arrival = absl::Now();
  if (deadline == absl::InfiniteFuture()) deadline = arrival + limits_.default_deadline;
  auto place = in_flight_.Enter();
  if (!place.ok()) return place.status();
  if (arrival >= deadline) return DeadlineMissed();
  // Before anything is read of the document: reading a file costs much more than its bytes do.
  auto permit = admission_.Enter(call.client, SizeOf(request), arrival, refusal, call.reserved);
  if (!permit.ok()) return permit.status();
  const uint64_t id = (*place)->id();
  Admitted admitted{call, arrival, deadline, *std::move(place), *std::move(permit), std::move(recipient)};
  const std::shared_ptr<ServedModel> loaded = slot->Use(arrival);
  // Callers that wait have threads of their own, and try again by the status.
  const bool parses_here = when_full == WhenFull::kWait || !Conversion::Needed(request);
  if (loaded != nullptr && parses_here) return Submit(loaded, request, std::move(admitted), refusal);
  auto waiting = std::make_shared<WaitingDocument>(*this, slot, request, std::move(admitted));
  if (loaded != nullptr) {
    in_flight_.AddTicket(id, waiting);
    parsing_.Post(call.client.id(), [waiting, loaded] { waiting->TakeModel(loaded); });
    return waiting;
  }
  auto model = slot->Await(waiting, arrival);
  if (!model.ok()) return model.status();
  if (*model != nullptr) return Submit(*model, request, waiting->TakeBack(), refusal);
  in_flight_.AddTicket(id, waiting);
  return waiting;
}

absl::StatusOr<std::shared_ptr<TranslationTicket>> Translator::Submit(const std::shared_ptr<ServedModel>& model,
                                                                      const v1::TranslateDocumentRequest& request,
                                                                      Admitted admitted, Refusal* refusal) {
  const ModelInfo& info = model->engine->info();
  std::shared_ptr<const Conversion> conversion;
  if (Conversion::Needed(request)) {
    const auto& own_glossary = admitted.call.own_glossary;
    auto created = Conversion::Create(request, info.config, *resources_, limits_.max_document_bytes,
                                      own_glossary != nullptr ? *own_glossary : "");
    if (!created.ok()) return created.status();
    conversion = *std::move(created);
    // Until the reply is there it is in memory as well, and may be much larger than the request.
    if (absl::Status status = admitted.permit->TryGrow(conversion->bytes(), refusal); !status.ok()) {
      status.SetPayload(kUnpacked, absl::Cord());
      return status;
    }
  }
  auto guard = FromProto(request.guard(), limits_.guard);
  if (!guard.ok()) return guard.status();
  auto settings = ReadSettings(conversion != nullptr ? conversion->request() : request, info,
                               limits_.max_document_bytes, [&](double alone) { return model->pace.Expected(alone); });
  if (!settings.ok()) return settings.status();
  guard = UsedGuard(*guard, settings->request.options);
  settings->request.deadline = admitted.deadline;
  settings->request.client = admitted.call.client.id();
  settings->request.weight = admitted.call.client.limits.weight;

  const uint64_t id = admitted.place->id();
  auto listener = std::make_shared<MeteredListener>(
      MeteredListener::Context{model, in_flight_, admission_retry_queue_, renderer_, conversion,
                               std::move(admitted.call), settings->request.bulk, *guard, settings->operating_point,
                               !request.has_search(), admitted.arrival, admitted.deadline,
                               model->pace.Begin(SecondsAlone(*settings, info), absl::Now())},
      std::move(admitted.place), std::move(admitted.permit), std::move(admitted.recipient));
  TermTranslationOptions options{*guard, model->calibration, {}};
  if (conversion != nullptr && conversion->has_terms()) {
    options.beginning = [conversion](const TranslatedSegment& segment, size_t kept) {
      return conversion->BeginningWithTerm(segment, kept);
    };
  }
  auto ticket =
      TranslateWithTerms(*model->engine, std::move(settings->request), std::move(options), std::move(listener));
  if (ticket.ok()) in_flight_.AddTicket(id, *ticket);
  return ticket;
}

absl::StatusOr<std::unique_ptr<Admission::Permit>> Translator::Hold(int64_t bytes, const CallInfo& call) {
  Client client = call.client;
  client.limits = {};  // which hold when it is admitted
  Refusal refusal = Refusal::kOther;
  auto held = held_.Enter(client, {.bytes = bytes}, absl::Now(), &refusal);
  if (!held.ok()) TellRefused(call, refusal, held.status().code());
  return held;
}

absl::StatusOr<std::shared_ptr<ReservedTokens>> Translator::Reserve(int64_t tokens, const CallInfo& call) {
  Refusal refusal = Refusal::kOther;
  auto reserved = admission_.Reserve(call.client, tokens, absl::Now(), &refusal);
  if (!reserved.ok()) TellRefused(call, refusal, reserved.status().code());
  return reserved;
}

void Translator::TellRefused(const CallInfo& call, Refusal refusal, absl::StatusCode outcome) {
  metrics_.CountRefused(outcome);
  metrics_.CountRefusal(refusal, call.client.kind);
  LogDocument({.call = call, .outcome = outcome, .refusal = RefusalName(refusal)});
}

}  // namespace salient

#include "server/rpc/documents_call.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/utf8.h"
#include "server/access/call_info.h"
#include "server/admission/status_message.h"
#include "server/request/wire.h"
#include "server/rpc/document_call.h"
#include "server/rpc/outbox.h"
#include "server/rpc/reactor_order.h"
#include "server/rpc/stalled_reader.h"
#include "server/rpc/status.h"

namespace salient {
namespace {

// Replies that may lie unsent before reading stops.
constexpr size_t kMaxUnsent = 16;

// Of a document's id, which the reply repeats. What is refused has no permit to count it with.
constexpr size_t kLongestId = 1024;

absl::Status CheckId(const std::string& id) {
  if (id.size() <= kLongestId) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("id: has ", id.size(), " bytes; give the document a shorter one, of ",
                                                 kLongestId, " bytes at most"));
}

// As much of an id as a reply may repeat: a message whose id is not UTF-8 cannot be parsed, but has the id all the
// same.
std::string BeginningOf(const std::string& id) {
  const std::string_view beginning = Utf8Prefix(id, kLongestId);
  return id.substr(0, FirstInvalidUtf8(beginning).value_or(beginning.size()));
}

class DocumentsCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                            public std::enable_shared_from_this<DocumentsCall> {
 public:
  DocumentsCall(Translator& translator, const Access& access, CallInfo call, grpc::CallbackServerContext& context)
      : translator_(translator),
        access_(access),
        call_(std::move(call)),
        context_(context),
        deadline_(DeadlineOf(context)),
        stalled_(translator.reader_patience()) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Begin() {
    self_ = shared_from_this();
    stalled_.Watch(self_, outbox_, context_);
    // Without owning the call: one that is over must not be kept by a server that drains days later.
    translator_.in_flight().OnDrain(self_, [this] { StopForDrain(); });
    ReadOn();
    return this;
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override {
    ShowTakeOver(this);
    stalled_.Stop();
    self_.reset();
  }

 private:
  // One document of the call.
  class Document final : public Recipient {
   public:
    Document(std::shared_ptr<DocumentsCall> call, CallInfo info, v1::TranslateDocumentsRequest request)
        : call_(std::move(call)), info_(std::move(info)), request_(std::move(request)) {}
    void TakePermit(std::unique_ptr<Admission::Permit> permit) override { permit_ = std::move(permit); }
    void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) override {
      call_->Reply(request_.id(), std::move(result), std::move(permit_));
      call_->Leave(this);
    }
    const CallInfo& info() const { return info_; }
    const v1::TranslateDocumentsRequest& request() const { return request_; }
    Cancellation& cancellation() { return cancellation_; }
    // What it takes of the memory for documents that are held; null: it is not held.
    void SetHeld(std::unique_ptr<Admission::Permit> held) { held_ = std::move(held); }
    // When it may be tried next: a try that unpacks it is too much work to be made at every chance.
    void SetNextTry(absl::Time time) { next_try_ = time; }
    absl::Time next_try() const { return next_try_; }

   private:
    const std::shared_ptr<DocumentsCall> call_;
    const CallInfo info_;
    const v1::TranslateDocumentsRequest request_;
    Cancellation cancellation_;
    std::unique_ptr<Admission::Permit> held_, permit_;
    absl::Time next_try_ = absl::InfinitePast();
  };

  // Replies that a message is not taken as a document.
  void Refuse(const std::string& id, Refusal refusal, const absl::Status& status);
  bool TryToStart(const std::shared_ptr<Document>& document);
  bool TryToHold(const std::shared_ptr<Document>& document);
  bool IsOver(Document& document) const;
  bool TryAgain(const std::shared_ptr<Document>& document);
  // The reply counts as the client's, with what `permit` has, until it is written; null: it does not.
  void Reply(const std::string& id, absl::StatusOr<v1::TranslateDocumentResponse> result,
             std::unique_ptr<Admission::Permit> permit);
  void Enter(const std::shared_ptr<Document>& document);
  void Leave(const Document* document);
  void ReadOn();
  void StopReading(grpc::Status status);
  void StopForDrain();
  void CloseIfDone();

  Translator& translator_;
  const Access& access_;
  const CallInfo call_;
  grpc::CallbackServerContext& context_;  // gRPC's, there until OnDone
  const absl::Time deadline_;
  Outbox outbox_;
  StalledReader stalled_;
  grpc::ByteBuffer incoming_;
  std::shared_ptr<DocumentsCall> self_;

  std::mutex mutex_;
  bool reading_ = false;  // a read is under way, or a document is held
  // Between deciding on a read and telling gRPC, when the call must not be finished. A count: a read may end, and
  // another thread decide on the next, before the thread that started it has come back.
  int starting_reads_ = 0;
  bool no_more_ = false;  // the client has sent all, or the server wants no more
  bool cancelled_ = false;
  grpc::Status end_;  // how the call ends once no_more_ is set and all documents are answered
  std::map<const Document*, std::shared_ptr<Document>> documents_;  // started or held
};

void DocumentsCall::OnReadDone(bool ok) {
  ShowTakeOver(this);
  if (!ok) {
    // The client has sent all: nothing of it is left unread, even if the server drains.
    StopReading(grpc::Status::OK);
    return;
  }
  v1::TranslateDocumentsRequest request;
  absl::Status status = ParseMessage(incoming_, &request);
  if (status.ok()) status = CheckId(request.id());
  CallInfo info;
  const absl::Status known = ReadCallInfo(access_, context_, &info);
  info.request_id = call_.request_id;
  if (!known.ok()) {
    Refuse(BeginningOf(request.id()), Refusal::kUnauthenticated, known);
  } else if (!status.ok()) {
    Refuse(BeginningOf(request.id()), Refusal::kOther, status);
  } else {
    auto document = std::make_shared<Document>(shared_from_this(), std::move(info), std::move(request));
    Enter(document);
    if (!TryToStart(document) && TryToHold(document)) return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    reading_ = false;
  }
  ReadOn();
}

void DocumentsCall::Refuse(const std::string& id, Refusal refusal, const absl::Status& status) {
  translator_.TellRefused(call_, refusal, status.code());
  Reply(id, status, nullptr);
}

// False if the engine has no room for it now.
bool DocumentsCall::TryToStart(const std::shared_ptr<Document>& document) {
  if (document->cancellation().cancelled()) {
    document->TakeResult(absl::CancelledError("cancelled by the client"));
    return true;
  }
  auto ticket =
      translator_.Start(document->request().request(), document->info(), deadline_, document, WhenFull::kWait);
  if (ticket.ok()) {
    document->cancellation().Attach(*std::move(ticket));
    return true;
  }
  if (absl::IsResourceExhausted(ticket.status())) {
    if (WasUnpacked(ticket.status())) document->SetNextTry(absl::Now() + *GetRetryDelay(ticket.status()));
    return false;
  }
  document->TakeResult(ticket.status());
  return true;
}

// False if there is no room for it; then it has its result.
bool DocumentsCall::TryToHold(const std::shared_ptr<Document>& document) {
  auto held = translator_.Hold(static_cast<int64_t>(document->request().request().SpaceUsedLong()), document->info());
  if (!held.ok()) {
    document->TakeResult(held.status());
    return false;
  }
  document->SetHeld(*std::move(held));
  auto chosen = translator_.models().Choose(document->request().request());
  translator_.admission_retry_queue().Wait(
      chosen.ok() ? chosen->get() : nullptr, document->info().client.id(),
      {.attempt = [call = shared_from_this(), document] { return call->TryAgain(document); },
       .over = [call = shared_from_this(), document] { return call->IsOver(*document); }});
  return true;
}

bool DocumentsCall::IsOver(Document& document) const {
  return document.cancellation().cancelled() || absl::Now() >= deadline_ || translator_.in_flight().draining();
}

// In the thread of the retry queue.
bool DocumentsCall::TryAgain(const std::shared_ptr<Document>& document) {
  if (absl::Now() < document->next_try() && !IsOver(*document)) return false;
  if (!TryToStart(document)) return false;
  document->SetHeld(nullptr);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    reading_ = false;
  }
  ReadOn();
  return true;
}

void DocumentsCall::Reply(const std::string& id, absl::StatusOr<v1::TranslateDocumentResponse> result,
                          std::unique_ptr<Admission::Permit> permit) {
  v1::TranslateDocumentsResponse reply;
  reply.set_id(id);
  if (result.ok()) {
    *reply.mutable_response() = *std::move(result);
  } else {
    reply.mutable_error()->set_code(static_cast<int>(result.status().code()));
    reply.mutable_error()->set_message(MessageOf(result.status()));
    const auto delay = GetRetryDelay(result.status());
    if (delay.has_value()) reply.mutable_error()->set_retry_after_seconds(absl::ToDoubleSeconds(*delay));
  }
  if (const absl::Status fits = CheckReplySize(reply); !fits.ok()) {
    reply.mutable_error()->set_code(static_cast<int>(fits.code()));
    reply.mutable_error()->set_message(std::string(fits.message()));
  }
  grpc::ByteBuffer message = SerializeMessage(reply);
  if (permit != nullptr) permit->Grow(static_cast<int64_t>(message.Length()));
  if (!outbox_.Push(message, std::move(permit))) context_.TryCancel();
  Pump(outbox_, *this);
}

void DocumentsCall::Enter(const std::shared_ptr<Document>& document) {
  bool too_late = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    documents_[document.get()] = document;
    too_late = cancelled_;
  }
  if (too_late) document->cancellation().Cancel();
}

void DocumentsCall::Leave(const Document* document) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    documents_.erase(document);
  }
  CloseIfDone();
}

void DocumentsCall::ReadOn() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (reading_ || no_more_ || outbox_.unsent() >= kMaxUnsent) return;
    reading_ = true;
    ++starting_reads_;
  }
  ShowHandOver(this);
  StartRead(&incoming_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    --starting_reads_;
  }
  CloseIfDone();
}

void DocumentsCall::StopReading(grpc::Status status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    no_more_ = true;
    end_ = std::move(status);
  }
  CloseIfDone();
}

// What the client has sent and the server not read is lost, so the call must not end with OK.
void DocumentsCall::StopForDrain() {
  StopReading(grpc::Status(grpc::StatusCode::UNAVAILABLE,
                           "the server is shutting down; send the documents that have no reply to another one"));
}

void DocumentsCall::CloseIfDone() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!no_more_ || starting_reads_ > 0 || !documents_.empty()) return;
    outbox_.Close(end_);
  }
  Pump(outbox_, *this);
}

void DocumentsCall::OnWriteDone(bool ok) {
  ShowTakeOver(this);
  outbox_.Written(ok);
  if (!ok) OnCancel();
  Pump(outbox_, *this);
  translator_.admission_retry_queue().Nudge();  // the reply was the client's until now
  ReadOn();
}

void DocumentsCall::OnCancel() {
  ShowTakeOver(this);
  std::map<const Document*, std::shared_ptr<Document>> documents;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    documents = documents_;
  }
  for (const auto& [key, document] : documents) document->cancellation().Cancel();
  translator_.admission_retry_queue().Nudge();
  StopReading(grpc::Status(grpc::StatusCode::CANCELLED, "cancelled by the client"));
  ShowHandOver(this);
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TranslateDocumentsCall(
    Translator& translator, const Access& access, CallInfo call, grpc::CallbackServerContext* context) {
  return std::make_shared<DocumentsCall>(translator, access, std::move(call), *context)->Begin();
}

}  // namespace salient

#include "server/rpc/document_call.h"

#include <memory>
#include <utility>

#include "grpc/support/time.h"
#include "server/request/wire.h"
#include "server/rpc/outbox.h"
#include "server/rpc/reactor_order.h"
#include "server/rpc/stalled_reader.h"
#include "server/rpc/status.h"

namespace salient {
namespace {

// How far a stream's client may be behind while the memory for documents is full. One that keeps up with its segments
// is not.
constexpr size_t kBehindWhenFull = 1 << 20;

// Starts the translation of a request's bytes for `recipient`, and attaches it to the cancellation. If it fails, the
// recipient hears nothing.
absl::Status Start(Translator& translator, const CallInfo& call, const grpc::ByteBuffer& bytes,
                   const grpc::CallbackServerContext& context, std::shared_ptr<Recipient> recipient,
                   Cancellation& cancellation) {
  v1::TranslateDocumentRequest request;
  if (absl::Status status = ParseMessage(bytes, &request); !status.ok()) {
    translator.TellRefused(call, Refusal::kOther, status.code());
    return status;
  }
  auto ticket = translator.Start(request, call, DeadlineOf(context), std::move(recipient));
  if (!ticket.ok()) return ticket.status();
  cancellation.Attach(*std::move(ticket));
  return absl::OkStatus();
}

class UnaryCall final : public grpc::ServerUnaryReactor,
                        public Recipient,
                        public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(grpc::CallbackServerContext& context, grpc::ByteBuffer* reply, absl::Duration reader_patience)
      : context_(context), reply_(reply), stalled_(reader_patience) {}

  grpc::ServerUnaryReactor* Begin(Translator& translator, const CallInfo& call, const grpc::ByteBuffer& bytes) {
    self_ = shared_from_this();
    ShowHandOver(this);
    const absl::Status status = Start(translator, call, bytes, context_, self_, cancellation_);
    if (!status.ok()) End(status);
    return this;
  }

  void TakePermit(std::unique_ptr<Admission::Permit> permit) override { permit_ = std::move(permit); }

  void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) override {
    absl::Status status = result.status();
    if (status.ok()) status = CheckReplySize(*result);
    if (status.ok()) {
      *reply_ = SerializeMessage(*result);
      permit_->Grow(static_cast<int64_t>(reply_->Length()));
      stalled_.WatchReply(self_, reply_->Length(), context_);
    }
    End(status);
  }

  void OnCancel() override {
    ShowTakeOver(this);
    cancellation_.Cancel();
    ShowHandOver(this);
  }

  void OnDone() override {  // the client has the reply, or is gone
    ShowTakeOver(this);
    stalled_.Stop();
    permit_.reset();
    self_.reset();
  }

 private:
  void End(const absl::Status& status) {
    AddPushback(status, context_);
    ShowHandOver(this);
    Finish(ToGrpc(status));
  }

  grpc::CallbackServerContext& context_;  // gRPC's, as the reply
  grpc::ByteBuffer* const reply_;         // gRPC's, there until OnDone
  StalledReader stalled_;
  std::unique_ptr<Admission::Permit> permit_;
  Cancellation cancellation_;
  std::shared_ptr<UnaryCall> self_;
};

class StreamCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                         public Recipient,
                         public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(grpc::CallbackServerContext& context, absl::Duration reader_patience)
      : context_(context), stalled_(reader_patience) {}

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Begin(Translator& translator, const CallInfo& call,
                                                    const grpc::ByteBuffer& bytes) {
    self_ = shared_from_this();
    stalled_.Watch(self_, outbox_, context_);
    ShowHandOver(this);
    const absl::Status status = Start(translator, call, bytes, context_, self_, cancellation_);
    if (!status.ok()) End(status);
    return this;
  }

  bool wants_segments() const override { return true; }

  void TakePermit(std::unique_ptr<Admission::Permit> permit) override { permit_ = std::move(permit); }

  void TakeSegment(v1::TranslatedSegment&& segment, const Admission::Permit* permit) override {
    v1::StreamTranslateDocumentResponse event;
    *event.mutable_segment() = std::move(segment);
    if (permit == nullptr) return Send(event, *permit_);
    Send(event, *permit);
    const size_t unsent = outbox_.unsent_bytes();
    if (unsent > kBehindWhenFull && !permit->KeepsLimits(static_cast<int64_t>(unsent))) GiveUp();
  }

  void TakeProgress(v1::Progress progress) override {
    v1::StreamTranslateDocumentResponse event;
    *event.mutable_progress() = progress;
    outbox_.SetProgress(SerializeMessage(event));
    Pump(outbox_, *this);
  }

  void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) override {
    if (result.ok()) {
      v1::StreamTranslateDocumentResponse event;
      result->clear_segments();  // sent already, one by one
      *event.mutable_result() = *std::move(result);
      if (const absl::Status fits = CheckReplySize(event); !fits.ok()) return End(fits);
      Send(event, *permit_);
    }
    End(result.status());
  }

  void OnWriteDone(bool ok) override {
    ShowTakeOver(this);
    outbox_.Written(ok);
    if (!ok) cancellation_.Cancel();
    Pump(outbox_, *this);
  }

  void OnCancel() override {
    ShowTakeOver(this);
    cancellation_.Cancel();
    ShowHandOver(this);
  }

  void OnDone() override {  // the client has the result, or is gone
    ShowTakeOver(this);
    stalled_.Stop();
    permit_.reset();
    self_.reset();
  }

 private:
  // Until it is written the event counts as the client's.
  void Send(const v1::StreamTranslateDocumentResponse& event, const Admission::Permit& permit) {
    const grpc::ByteBuffer message = SerializeMessage(event);
    std::shared_ptr<void> counted = permit.MakeShare(static_cast<int64_t>(message.Length()));
    if (!outbox_.Push(message, std::move(counted))) GiveUp();
    Pump(outbox_, *this);
  }

  // The client reads too slowly.
  void GiveUp() {
    cancellation_.Cancel();
    context_.TryCancel();
  }

  void End(const absl::Status& status) {
    AddPushback(status, context_);
    outbox_.Close(ToGrpc(status));
    Pump(outbox_, *this);
  }

  grpc::CallbackServerContext& context_;  // gRPC's, there until OnDone
  Outbox outbox_;
  StalledReader stalled_;
  std::unique_ptr<Admission::Permit> permit_;  // null: the document is translated, or was not admitted
  Cancellation cancellation_;
  std::shared_ptr<StreamCall> self_;
};

}  // namespace

// A call may ask for more time than a time_point of nanoseconds holds, and context.deadline() would overflow.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_REALTIME);
  if (gpr_time_cmp(deadline, gpr_inf_future(GPR_CLOCK_REALTIME)) == 0) return absl::InfiniteFuture();
  return absl::FromUnixSeconds(deadline.tv_sec) + absl::Nanoseconds(deadline.tv_nsec);
}

grpc::ServerUnaryReactor* TranslateDocumentCall(Translator& translator, CallInfo call,
                                                grpc::CallbackServerContext* context, const grpc::ByteBuffer& request,
                                                grpc::ByteBuffer* reply) {
  return std::make_shared<UnaryCall>(*context, reply, translator.reader_patience())->Begin(translator, call, request);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamTranslateDocumentCall(Translator& translator, CallInfo call,
                                                                        grpc::CallbackServerContext* context,
                                                                        const grpc::ByteBuffer& request) {
  return std::make_shared<StreamCall>(*context, translator.reader_patience())->Begin(translator, call, request);
}

}  // namespace salient

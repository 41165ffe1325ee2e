#include "server/document_call.h"

#include <chrono>
#include <memory>
#include <utility>

#include "server/outbox.h"
#include "server/stalled_reader.h"
#include "server/status.h"
#include "server/wire.h"

namespace salient {
namespace {

// Starts the translation of a request's bytes for `recipient`, and attaches it to the cancellation. If it fails, the
// recipient hears nothing.
absl::Status Start(Translator& translator, const CallInfo& call, const grpc::ByteBuffer& bytes,
                   const grpc::CallbackServerContext& context, std::shared_ptr<Recipient> recipient,
                   Cancellation& cancellation) {
  v1::TranslateDocumentRequest request;
  if (absl::Status status = ParseMessage(bytes, &request); !status.ok()) return status;
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

  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override {  // the client has the reply, or is gone
    stalled_.Stop();
    permit_.reset();
    self_.reset();
  }

 private:
  void End(const absl::Status& status) {
    AddPushback(status, context_);
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
    const absl::Status status = Start(translator, call, bytes, context_, self_, cancellation_);
    if (!status.ok()) End(status);
    return this;
  }

  bool wants_segments() const override { return true; }

  void TakePermit(std::unique_ptr<Admission::Permit> permit) override {
    permit_ = std::move(permit);
    permit_->Grow(static_cast<int64_t>(outbox_.unsent_bytes()));
  }

  void TakeSegment(v1::TranslatedSegment segment) override {
    v1::StreamTranslateDocumentResponse event;
    *event.mutable_segment() = std::move(segment);
    Send(event);
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
      Send(event);
    }
    End(result.status());
  }

  void OnWriteDone(bool ok) override {
    outbox_.Written(ok);
    if (!ok) cancellation_.Cancel();
    Pump(outbox_, *this);
  }

  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override {  // the client has the result, or is gone
    stalled_.Stop();
    permit_.reset();
    self_.reset();
  }

 private:
  void Send(const v1::StreamTranslateDocumentResponse& event) {
    if (permit_ != nullptr) permit_->Grow(static_cast<int64_t>(event.ByteSizeLong()));
    if (!outbox_.Push(SerializeMessage(event))) {
      cancellation_.Cancel();
      context_.TryCancel();
    }
    Pump(outbox_, *this);
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

absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return absl::FromChrono(deadline);
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

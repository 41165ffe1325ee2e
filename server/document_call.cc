#include "server/document_call.h"

#include <chrono>
#include <memory>
#include <utility>

#include "server/outbox.h"
#include "server/status.h"
#include "server/wire.h"

namespace salient {
namespace {

class UnaryCall final : public grpc::ServerUnaryReactor,
                        public Recipient,
                        public std::enable_shared_from_this<UnaryCall> {
 public:
  explicit UnaryCall(grpc::ByteBuffer* reply) : reply_(reply) {}

  grpc::ServerUnaryReactor* Begin(Translator& translator, absl::Time deadline, const grpc::ByteBuffer& bytes) {
    self_ = shared_from_this();
    v1::TranslateDocumentRequest request;
    if (const absl::Status status = ParseMessage(bytes, &request); !status.ok()) {
      Finish(ToGrpc(status));
      return this;
    }
    auto ticket = translator.Start(request, deadline, self_);
    if (ticket.ok()) {
      cancellation_.Attach(*std::move(ticket));
    } else {
      Finish(ToGrpc(ticket.status()));
    }
    return this;
  }

  void TakeResult(absl::StatusOr<v1::TranslateDocumentResponse> result) override {
    if (result.ok()) *reply_ = SerializeMessage(*result);
    Finish(ToGrpc(result.status()));
  }

  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override { self_.reset(); }

 private:
  grpc::ByteBuffer* const reply_;  // gRPC's, there until OnDone
  Cancellation cancellation_;
  std::shared_ptr<UnaryCall> self_;
};

class StreamCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                         public Recipient,
                         public std::enable_shared_from_this<StreamCall> {
 public:
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Begin(Translator& translator, absl::Time deadline,
                                                    const grpc::ByteBuffer& bytes) {
    self_ = shared_from_this();
    v1::TranslateDocumentRequest request;
    if (const absl::Status status = ParseMessage(bytes, &request); !status.ok()) {
      End(status);
      return this;
    }
    auto ticket = translator.Start(request, deadline, self_);
    if (ticket.ok()) {
      cancellation_.Attach(*std::move(ticket));
    } else {
      End(ticket.status());
    }
    return this;
  }

  bool wants_segments() const override { return true; }

  void TakeSegment(v1::TranslatedSegment segment) override {
    v1::StreamTranslateDocumentResponse event;
    *event.mutable_segment() = std::move(segment);
    outbox_.Push(SerializeMessage(event));
    Pump(outbox_, *this);
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
      outbox_.Push(SerializeMessage(event));
    }
    End(result.status());
  }

  void OnWriteDone(bool ok) override {
    outbox_.Written(ok);
    if (!ok) cancellation_.Cancel();
    Pump(outbox_, *this);
  }

  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override { self_.reset(); }

 private:
  void End(const absl::Status& status) {
    outbox_.Close(ToGrpc(status));
    Pump(outbox_, *this);
  }

  Outbox outbox_;
  Cancellation cancellation_;
  std::shared_ptr<StreamCall> self_;
};

}  // namespace

absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return absl::FromChrono(deadline);
}

grpc::ServerUnaryReactor* TranslateDocumentCall(Translator& translator, grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer& request, grpc::ByteBuffer* reply) {
  return std::make_shared<UnaryCall>(reply)->Begin(translator, DeadlineOf(*context), request);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamTranslateDocumentCall(Translator& translator,
                                                                        grpc::CallbackServerContext* context,
                                                                        const grpc::ByteBuffer& request) {
  return std::make_shared<StreamCall>()->Begin(translator, DeadlineOf(*context), request);
}

}  // namespace salient

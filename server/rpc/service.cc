#include "server/rpc/service.h"

#include <utility>

#include "server/request/wire.h"
#include "server/rpc/document_call.h"
#include "server/rpc/documents_call.h"
#include "server/rpc/status.h"

namespace salient {
namespace {

// Ends a call of any kind before it begins.
template <class Reactor>
class RefusedCall final : public Reactor {
 public:
  explicit RefusedCall(const absl::Status& status) { this->Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

v1::ListModelsResponse ListModels(const ModelRegistry& models) {
  v1::ListModelsResponse reply;
  for (const auto& slot : models.models()) *reply.add_models() = slot->description();
  return reply;
}

absl::StatusOr<v1::Model> GetModel(const ModelRegistry& models, const std::string& name) {
  auto slot = models.Find(name);
  if (!slot.ok()) return slot.status();
  return (*slot)->description();
}

absl::StatusOr<CallInfo> TranslationService::Enter(grpc::CallbackServerContext& context) {
  gate_.Begin();
  CallInfo call;
  absl::Status status = ReadCallInfo(access_, context, &call);
  context.AddTrailingMetadata("x-request-id", call.request_id);
  if (!call.traceparent.empty()) context.AddTrailingMetadata("traceparent", call.traceparent);
  if (status.ok()) return call;
  translator_.TellRefused(call, Refusal::kUnauthenticated, status.code());
  return status;
}

grpc::ServerUnaryReactor* TranslationService::TranslateDocument(grpc::CallbackServerContext* context,
                                                                const grpc::ByteBuffer* request,
                                                                grpc::ByteBuffer* reply) {
  auto call = Enter(*context);
  if (!call.ok()) return new RefusedCall<grpc::ServerUnaryReactor>(call.status());
  return TranslateDocumentCall(translator_, *std::move(call), context, *request, reply);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* TranslationService::StreamTranslateDocument(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  auto call = Enter(*context);
  if (!call.ok()) return new RefusedCall<grpc::ServerWriteReactor<grpc::ByteBuffer>>(call.status());
  return StreamTranslateDocumentCall(translator_, *std::move(call), context, *request);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TranslationService::TranslateDocuments(
    grpc::CallbackServerContext* context) {
  auto call = Enter(*context);
  if (!call.ok()) return new RefusedCall<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>(call.status());
  return TranslateDocumentsCall(translator_, access_, *std::move(call), context);
}

grpc::ServerUnaryReactor* TranslationService::ListModels(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  auto call = Enter(*context);
  if (!call.ok()) return new RefusedCall<grpc::ServerUnaryReactor>(call.status());
  v1::ListModelsRequest message;
  const absl::Status status = ParseMessage(*request, &message);
  if (status.ok()) *reply = SerializeMessage(salient::ListModels(translator_.models()));
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

grpc::ServerUnaryReactor* TranslationService::GetModel(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  auto call = Enter(*context);
  if (!call.ok()) return new RefusedCall<grpc::ServerUnaryReactor>(call.status());
  v1::GetModelRequest message;
  absl::Status status = ParseMessage(*request, &message);
  if (status.ok()) {
    const auto model = salient::GetModel(translator_.models(), message.name());
    if (model.ok()) *reply = SerializeMessage(*model);
    status = model.status();
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

}  // namespace salient

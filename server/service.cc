#include "server/service.h"

#include <string_view>
#include <utility>

#include "server/document_call.h"
#include "server/documents_call.h"
#include "server/status.h"

namespace salient {
namespace {

std::string_view Metadata(const grpc::CallbackServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

// Ends a call of any kind before it begins.
template <class Reactor>
class Refusal final : public Reactor {
 public:
  explicit Refusal(const absl::Status& status) { this->Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

v1::ListModelsResponse ListModels(const ModelRegistry& models) {
  v1::ListModelsResponse reply;
  for (const auto& model : models.models()) *reply.add_models() = model->description;
  return reply;
}

absl::StatusOr<v1::Model> GetModel(const ModelRegistry& models, const std::string& name) {
  auto model = models.Find(name);
  if (!model.ok()) return model.status();
  return (*model)->description;
}

absl::Status TranslationService::CheckKey(const grpc::CallbackServerContext& context) const {
  const absl::Status status = access_.CheckKey(Metadata(context, "authorization"), Metadata(context, "x-api-key"));
  if (!status.ok()) translator_.CountRefused(status.code());
  return status;
}

grpc::ServerUnaryReactor* TranslationService::TranslateDocument(grpc::CallbackServerContext* context,
                                                                const grpc::ByteBuffer* request,
                                                                grpc::ByteBuffer* reply) {
  if (const absl::Status status = CheckKey(*context); !status.ok())
    return new Refusal<grpc::ServerUnaryReactor>(status);
  return TranslateDocumentCall(translator_, context, *request, reply);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* TranslationService::StreamTranslateDocument(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  if (const absl::Status status = CheckKey(*context); !status.ok()) {
    return new Refusal<grpc::ServerWriteReactor<grpc::ByteBuffer>>(status);
  }
  return StreamTranslateDocumentCall(translator_, context, *request);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TranslationService::TranslateDocuments(
    grpc::CallbackServerContext* context) {
  if (const absl::Status status = CheckKey(*context); !status.ok()) {
    return new Refusal<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>(status);
  }
  return TranslateDocumentsCall(translator_, context);
}

grpc::ServerUnaryReactor* TranslationService::ListModels(grpc::CallbackServerContext* context,
                                                         const v1::ListModelsRequest*, v1::ListModelsResponse* reply) {
  if (const absl::Status status = CheckKey(*context); !status.ok())
    return new Refusal<grpc::ServerUnaryReactor>(status);
  *reply = salient::ListModels(translator_.models());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* TranslationService::GetModel(grpc::CallbackServerContext* context,
                                                       const v1::GetModelRequest* request, v1::Model* reply) {
  if (const absl::Status status = CheckKey(*context); !status.ok())
    return new Refusal<grpc::ServerUnaryReactor>(status);
  auto model = salient::GetModel(translator_.models(), request->name());
  if (model.ok()) *reply = *std::move(model);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(model.status()));
  return reactor;
}

}  // namespace salient

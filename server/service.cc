#include "server/service.h"

#include <utility>

#include "server/document_call.h"
#include "server/documents_call.h"
#include "server/status.h"

namespace salient {

v1::ListModelsResponse ListModels(const Catalogue& catalogue) {
  v1::ListModelsResponse reply;
  for (const auto& model : catalogue.models()) *reply.add_models() = model->description;
  return reply;
}

absl::StatusOr<v1::Model> GetModel(const Catalogue& catalogue, const std::string& name) {
  auto model = catalogue.Find(name);
  if (!model.ok()) return model.status();
  return (*model)->description;
}

grpc::ServerUnaryReactor* TranslationService::TranslateDocument(grpc::CallbackServerContext* context,
                                                                const grpc::ByteBuffer* request,
                                                                grpc::ByteBuffer* reply) {
  return TranslateDocumentCall(translator_, context, *request, reply);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* TranslationService::StreamTranslateDocument(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return StreamTranslateDocumentCall(translator_, context, *request);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TranslationService::TranslateDocuments(
    grpc::CallbackServerContext* context) {
  return TranslateDocumentsCall(translator_, context);
}

grpc::ServerUnaryReactor* TranslationService::ListModels(grpc::CallbackServerContext* context,
                                                         const v1::ListModelsRequest*,
                                                         v1::ListModelsResponse* reply) {
  *reply = salient::ListModels(translator_.catalogue());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* TranslationService::GetModel(grpc::CallbackServerContext* context,
                                                       const v1::GetModelRequest* request, v1::Model* reply) {
  auto model = salient::GetModel(translator_.catalogue(), request->name());
  if (model.ok()) *reply = *std::move(model);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(model.status()));
  return reactor;
}

}  // namespace salient

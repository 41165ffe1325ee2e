// The gRPC service `salient.v1.Translation`, with gRPC's callback API.

#pragma once

#include "salient/v1/translation.grpc.pb.h"
#include "server/access/access.h"
#include "server/access/call_info.h"
#include "server/rpc/call_gate.h"
#include "server/translation/translator.h"

namespace salient {

// The methods receive and send bytes (server/request/wire.h says why).
using TranslationServiceBase = v1::Translation::WithRawCallbackMethod_TranslateDocument<
    v1::Translation::WithRawCallbackMethod_StreamTranslateDocument<
        v1::Translation::WithRawCallbackMethod_TranslateDocuments<v1::Translation::WithRawCallbackMethod_ListModels<
            v1::Translation::WithRawCallbackMethod_GetModel<v1::Translation::Service>>>>>;

class TranslationService final : public TranslationServiceBase {
 public:
  // All of them must outlive the service. Every call is checked with `access` before its message is read, and `gate` is
  // notified that it has begun.
  TranslationService(Translator& translator, const Access& access, CallGate& gate)
      : translator_(translator), access_(access), gate_(gate) {}

  grpc::ServerUnaryReactor* TranslateDocument(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* reply) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamTranslateDocument(grpc::CallbackServerContext* context,
                                                                      const grpc::ByteBuffer* request) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TranslateDocuments(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;

 private:
  // Authenticates a call, and adds its request id to the trailers.
  absl::StatusOr<CallInfo> Enter(grpc::CallbackServerContext& context);

  Translator& translator_;
  const Access& access_;
  CallGate& gate_;
};

// The replies of the two RPCs; the HTTP port returns the same.
v1::ListModelsResponse ListModels(const ModelRegistry& models);
absl::StatusOr<v1::Model> GetModel(const ModelRegistry& models, const std::string& name);

}  // namespace salient

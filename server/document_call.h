// TranslateDocument and StreamTranslateDocument: one document a call.
//
// A call object owns itself until gRPC has done with it (OnDone). Whoever else calls it, the engine through a
// Recipient, holds it by a shared pointer, so it lives until the last of them lets go, in whatever order they do.

#pragma once

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/translator.h"

namespace salient {

grpc::ServerUnaryReactor* TranslateDocumentCall(Translator& translator, CallInfo call,
                                                grpc::CallbackServerContext* context, const grpc::ByteBuffer& request,
                                                grpc::ByteBuffer* reply);

grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamTranslateDocumentCall(Translator& translator, CallInfo call,
                                                                        grpc::CallbackServerContext* context,
                                                                        const grpc::ByteBuffer& request);

// The time by which a call must be finished.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context);

}  // namespace salient

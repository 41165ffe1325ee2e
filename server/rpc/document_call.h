// TranslateDocument and StreamTranslateDocument: one document for each call.
//
// A call object owns itself until gRPC calls OnDone. The engine, which calls it as a Recipient, holds it by a shared
// pointer. So it lives until both have released it, in any order.

#pragma once

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/translation/translator.h"

namespace salient {

grpc::ServerUnaryReactor* TranslateDocumentCall(Translator& translator, CallInfo call,
                                                grpc::CallbackServerContext* context, const grpc::ByteBuffer& request,
                                                grpc::ByteBuffer* reply);

grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamTranslateDocumentCall(Translator& translator, CallInfo call,
                                                                        grpc::CallbackServerContext* context,
                                                                        const grpc::ByteBuffer& request);

// The deadline of a call.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context);

}  // namespace salient

// TranslateDocuments: many documents over one call, each answered when it is finished.
//
// Flow control. The next document is read only when the last was admitted by its engine and the replies that the client
// has not taken yet are few; a document that finds the queue full is held, and nothing is read meanwhile. So what a
// call keeps in memory is bounded by the engine's queue, and a client that sends faster is slowed down by HTTP/2
// itself.

#pragma once

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/translator.h"

namespace salient {

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TranslateDocumentsCall(
    Translator& translator, CallInfo call, grpc::CallbackServerContext* context);

}  // namespace salient

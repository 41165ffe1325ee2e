// TranslateDocuments: many documents over one call; each reply is sent when its document is finished.
//
// Flow control. The next document is read only after the previous one was admitted by its engine and while few replies
// wait to be read by the client. If the queue is full, or the client at a limit of its own, the document is held and
// nothing is read. So the memory of a call is bounded, and HTTP/2 flow control slows down a client that sends faster.
// The bytes of all documents that are held are bounded, too; a document beyond that is refused.
//
// A call may last for days. So each document is checked with the keys of its time.

#pragma once

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/access/access.h"
#include "server/translation/translator.h"

namespace salient {

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TranslateDocumentsCall(
    Translator& translator, const Access& access, CallInfo call, grpc::CallbackServerContext* context);

}  // namespace salient
